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
    case LayoutRule::blocks: return "as they come";
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
  for (const Row& row : rows)
    text += fmt::format("{:<{}}  {:<8}  {:<8}  {}\n", row.name, width, row.opsets, row.gradient, row.layouts);
  return text + "\nrewritten as other operators:\n" + list_of(spelled_operators(), 100) +
         "\n\nfor constants and shapes only:\n" + list_of(folded_operators(), 100) + "\n";
}

std::string as_page(const std::vector<Row>& rows) {
  std::string text =
      "# Operators\n\n"
      "The operators that a model may use; `plimsoll operators --markdown` writes this page. Local functions are "
      "inlined. An\n"
      "`If` whose condition is known while compiling is the branch that it takes; others are refused. If a model uses\n"
      "operators that are not listed here, the error names all of them (exit code 5). It is an error (exit code 4) if "
      "a node\n"
      "has an attribute that ONNX does not define for its operator in the model's opset, or a value that ONNX does not "
      "define\n"
      "for that attribute. A local function of another opset than the model's is refused (5).\n\n"
      "Every operator is one file in [compiler/ops](../compiler/ops/), which ends with small instances of the "
      "operator. The\n"
      "generic tests run these instances: they compare gradients with finite differences and every backend with the "
      "CPU, and\n"
      "test in-place results, recomputation and halves of the batch. Activations are stored in blocks of channels "
      "where that is\n"
      "faster. An operator takes blocked activations *as they come*, has kernels for *blocked* ones *too*, or needs "
      "*plain*\n"
      "ones. The compiler converts layouts where necessary.\n\n"
      "| operator | opsets | gradient | layouts | tested as |\n|---|---|---|---|---|\n";
  for (const Row& row : rows)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row.name, row.opsets, row.gradient, row.layouts, row.samples);
  return text +
         "\n## Rewritten as other operators\n\n"
         "A network pass rewrites these as compositions of other operators\n"
         "([compiler/network/simplify/spellings.h](../compiler/network/simplify/spellings.h)):\n" +
         list_of(spelled_operators(), 120) +
         ".\nConvolutions and pools over one dimension are rewritten, too. SplitToSequence with SequenceAt becomes "
         "Split.\n"
         "Sequences of listed tensors (SequenceConstruct, SequenceMap, SequenceAt, ConcatFromSequence) are replaced\n"
         "by these tensors.\n"
         "RandomUniformLike, Less and Cast, with which exporters draw masks, become Bernoulli, and Bernoulli with\n"
         "probabilities that the network computes becomes RandomUniformLike, Less and Cast.\n"
         "TopK of a number for each sample, by which samples are sorted and later put back, is left out.\n"
         "onnxruntime's optimizers write operators of its own (com.microsoft), which are rewritten as operators of "
         "ONNX:\n"
         "Attention, BiasGelu, EmbedLayerNormalization, FastGelu, FusedConv, FusedGemm, FusedMatMul, Gelu,\n"
         "MultiHeadAttention, QuickGelu, RotaryEmbedding, SimplifiedLayerNormalization, SkipLayerNormalization,\n"
         "SkipSimplifiedLayerNormalization, TransposeMatMul\n"
         "([compiler/network/simplify/onnxruntime_operators.h]"
         "(../compiler/network/simplify/onnxruntime_operators.h)).\n"
         "Their caches of past keys and values, and convolutions in blocks of channels (com.microsoft.nchwc), are "
         "refused.\n"
         "All steps of an LSTM or GRU may also be one operator (`--recurrence`), with the default activations. RNN,\n"
         "other activations, peepholes, `clip` and `input_forget` are unrolled only\n"
         "([decisions/recurrent.md](decisions/recurrent.md)).\n"
         "\n## Of constants and shapes only\n\n"
         "Exporters compute shapes and masks with these operators. The compiler evaluates them if it knows their "
         "inputs up to the\n"
         "batch:\n" +
         list_of(folded_operators(), 120) + ".\n";
}

class OperatorsCommand final : public Command {
 public:
  OperatorsCommand()
      : Command("operators", "list the supported ONNX operators: plimsoll operators"),
        markdown_("markdown", cl::desc("print a Markdown page that includes the tested instances"), cl::sub(sub)),
        json_("json", cl::desc("print JSON"), cl::sub(sub)) {}

  Status run() override {
    const std::vector<Row> rows = rows_of_operators();
    if (json_) {
      std::vector<std::string> objects;
      for (const Row& row : rows)
        objects.push_back(JsonObject()
                              .add("operator", row.name)
                              .add("opsets", row.opsets)
                              .add("gradient", row.gradient)
                              .add("layouts", row.layouts)
                              .text());
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
