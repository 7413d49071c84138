#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/ops/activation.h"
#include "compiler/ops/op.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

std::string_view name_of(LayoutRule rule) {
  switch (rule) {
    case LayoutRule::plain: return "plain";
    case LayoutRule::elementwise: return "as they come";
    case LayoutRule::channels: return "as they come";
    case LayoutRule::any: return "blocked too";
  }
  return "";
}

struct Row {
  std::string name, opsets, gradient, layouts, samples;
};

std::vector<Row> rows_of_operators() {
  std::vector<Row> rows;
  for (const Op* op : all_ops()) {
    if (!op->of_onnx()) continue;
    Row row{.name = std::string(op->name),
            .opsets = fmt::format("{} to {}", op->first_opset, op->last_opset),
            .gradient = !op->backward ? "none" : op->backward == zero_gradient ? "zero" : "yes",
            .layouts = std::string(op->layout_of ? "by node" : name_of(op->layout)),
            .samples = {}};
    for (const Sample& sample : op->samples()) row.samples += (row.samples.empty() ? "" : ", ") + sample.name;
    rows.push_back(std::move(row));
  }
  return rows;
}

// Operators without a row of their own. Lines are shorter than `width`.
std::string list_of(std::vector<std::string_view> names, size_t width) {
  std::erase_if(names, [](std::string_view name) { return find_op(name) != nullptr; });
  std::string text;
  size_t line = 0;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ',';
    const bool fits = line + name.size() + 2 < width;
    if (!text.empty()) text += fits ? ' ' : '\n';
    line = (fits ? line + 2 : 0) + name.size();
    text += name;
  }
  return text;
}

std::string as_text(const std::vector<Row>& rows) {
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text = fmt::format("{:<{}}  {:<8}  {:<8}  {}\n", "operator", width, "opsets", "gradient", "layouts");
  for (const Row& row : rows) text += fmt::format("{:<{}}  {:<8}  {:<8}  {}\n", row.name, width, row.opsets, row.gradient, row.layouts);
  return text + "\nin words of others:\n" + list_of(spelled_operators(), 100) + "\n\nof constants and shapes only:\n" +
         list_of(folded_operators(), 100) + "\n";
}

std::string as_page(const std::vector<Row>& rows) {
  std::string text =
      "# Operators\n\n"
      "What a model may be made of; `plimsoll operators --markdown` writes this page. Local functions are inlined, and an operator that is\n"
      "not here is named with all others that are not, exit code 5. A node with an attribute that\n"
      "ONNX does not give its operator in the model's opset, or with a word that ONNX does not know there, is an error (exit code 4), "
      "and so are local functions\n"
      "of another opset than the model's (5).\n\n"
      "Every operator stands in one file, [compiler/ops](../compiler/ops/), that ends with small instances of it. Tests walk over those:\n"
      "gradients against finite differences, every backend against the CPU's, results in place, run again and in halves of the batch.\n"
      "Activations lie in blocks of channels where that is faster: an operator takes them *as they come*, has kernels for *blocked* ones of\n"
      "any kind *too*, or wants them *plain*, and is given them so.\n\n"
      "| operator | opsets | gradient | layouts | tested as |\n|---|---|---|---|---|\n";
  for (const Row& row : rows)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row.name, row.opsets, row.gradient, row.layouts, row.samples);
  return text +
         "\n## In words of others\n\n"
         "Written down as what they are made of ([compiler/network/simplify/spellings.h](../compiler/network/simplify/spellings.h)):\n" +
         list_of(spelled_operators(), 140) +
         ",\nand convolutions and pools over one dimension. SplitToSequence with SequenceAt is a Split, what exporters draw masks with\n"
         "(RandomUniformLike, Less, Cast) is Bernoulli.\n"
         "\n## Of constants and shapes only\n\n"
         "What exporters compute shapes and masks with is worked out by the compiler, where its inputs are known but for the batch:\n" +
         list_of(folded_operators(), 140) + ".\n";
}

class OperatorsCommand final : public Command {
 public:
  OperatorsCommand()
      : Command("operators", "the ONNX operators that a model may be made of: plimsoll operators"),
        markdown_("markdown", cl::desc("as a page, with the instances that tests walk over"), cl::sub(sub)),
        json_("json", cl::desc("as JSON, to stdout"), cl::sub(sub)) {}

  Status run() override {
    const std::vector<Row> rows = rows_of_operators();
    if (json_) {
      std::vector<std::string> objects;
      for (const Row& row : rows)
        objects.push_back(JsonObject().add("operator", row.name).add("opsets", row.opsets).add("gradient", row.gradient).add("layouts", row.layouts).text());
      fmt::print("{}\n", json_list(objects));
      return {};
    }
    fmt::print("{}", markdown_ ? as_page(rows) : as_text(rows));
    return {};
  }

 private:
  cl::opt<bool> markdown_, json_;
};

}  // namespace

std::unique_ptr<Command> operators_command() { return std::make_unique<OperatorsCommand>(); }

}  // namespace plimsoll
