// Tools for writing an operator as other operators. Each subject has its file: spellings_by_index.cpp,
// spellings_recurrent.cpp, …; all others are in spellings.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/spellings.h"

namespace plimsoll::spelling {

using Ints = std::vector<int64_t>;
using Nodes = std::vector<ModelNode>;

// Appends nodes: each produces one output, whose name is returned.
class Writer {
 public:
  explicit Writer(const Spelling& spelling) : spelling_(spelling) {}

  const ModelNode& node() const { return spelling_.node; }
  int64_t opset() const { return spelling_.opset; }
  std::string input(size_t i) const {
    return i < node().inputs.size() ? node().inputs[i] : std::string();
  }
  // Neither an initializer nor known.
  bool is_computed(size_t i) const { return !input(i).empty() && spelling_.computed(i); }
  ElementType element(size_t i) const {
    return input(i).empty() ? ElementType::undefined : spelling_.element(i);
  }
  int64_t batch() const { return spelling_.batch; }
  std::optional<int64_t> exported_batch() const { return spelling_.exported_batch; }
  bool follow() const { return spelling_.follow(); }
  bool fuse_recurrence() const { return spelling_.fuse_recurrence && spelling_.fuse_recurrence(); }
  std::vector<Rows> rows(size_t i) const { return input(i).empty() ? std::vector<Rows>{} : spelling_.rows(i); }
  const SampleIndices* of_samples(size_t i) const { return input(i).empty() ? nullptr : spelling_.of_samples(i); }
  const Dims* dims(size_t i) const { return input(i).empty() ? nullptr : spelling_.dims(i); }
  const Dims& x() const { return *spelling_.dims(0); }
  const KnownValue* known(size_t i) const { return input(i).empty() ? nullptr : spelling_.known(i); }
  // A constant whose elements all equal that number.
  bool is_all(size_t i, double number) const {
    const KnownValue* known = this->known(i);
    return known && known->real() &&
           std::all_of(known->reals.begin(), known->reals.end(), [=](double item) { return item == number; });
  }
  int64_t integer(std::string_view name, int64_t missing) const {
    const auto* found = find_attribute(node(), name);
    return found ? found->integer() : missing;
  }
  float real(std::string_view name, float missing) const {
    const auto* found = find_attribute(node(), name);
    return found ? found->real() : missing;
  }
  std::string text(std::string_view name, std::string_view missing) const {
    const auto* found = find_attribute(node(), name);
    return found ? found->text() : std::string(missing);
  }

  // Nodes written from here on belong to this part of the node: "step_17".
  void enter(std::string part) { part_ = part.empty() ? part : "/" + part; }

  std::string write(const char* op, const std::vector<std::string>& inputs) {
    ModelNode& made = nodes_.emplace_back();
    made.op = op;
    made.name = fmt::format("{}{}/{}", node().name.empty() ? first_output() : node().name, part_, op);
    made.metadata = node().metadata;
    made.inputs = inputs;
    made.outputs.push_back(unused(fmt::format("{}{}/{}", first_output(), part_, nodes_.size())));
    return made.outputs[0];
  }
  std::string write(const char* op, const std::vector<std::string>& inputs, const char* attribute, const Ints& items) {
    const std::string output = write(op, inputs);
    set(attribute, items);
    return output;
  }
  // The outputs of the node that was written last, which gets this many.
  std::vector<std::string> outputs(size_t count) {
    std::vector<std::string> parts = {nodes_.back().outputs[0]};
    for (size_t i = 1; i < count; ++i)
      nodes_.back().outputs.push_back(parts.emplace_back(unused(fmt::format("{}.{}", parts[0], i))));
    return parts;
  }
  std::vector<std::string> split(const std::string& x, int64_t axis, const Ints& lengths) {
    if (lengths.size() == 1) return {x};
    write("Split", {x});
    set_integer("axis", axis);
    set("split", lengths);
    return outputs(lengths.size());
  }
  std::string concat(const std::vector<std::string>& parts, int64_t axis) {
    if (parts.size() == 1) return parts[0];
    const std::string whole = write("Concat", parts);
    set_integer("axis", axis);
    return whole;
  }
  std::string number(float value) {
    const std::string output = write("Constant", {});
    set_real("value_float", value);
    return output;
  }
  std::string constant(const KnownValue& known) {
    const std::string output = write("Constant", {});
    take_over({.name = "value", .value = to_tensor(known, "")});
    return output;
  }
  std::string integers(const Ints& items, const Dims& dims) {
    KnownValue known{.element = ElementType::i64, .dims = dims};
    for (const int64_t item : items) known.ints.push_back({item});
    return constant(known);
  }
  // Attributes of the node that was written last.
  void set(const std::string& name, const Ints& items) { take_over({.name = name, .value = items}); }
  void set_integer(const std::string& name, int64_t item) { take_over({.name = name, .value = item}); }
  void set_text(const std::string& name, const std::string& item) { take_over({.name = name, .value = item}); }
  void set_real(const std::string& name, float item) { take_over({.name = name, .value = item}); }
  void take_over(ModelAttribute attribute) { nodes_.back().attributes.push_back(std::move(attribute)); }

  Nodes finish() {
    nodes_.back().name = node().name;
    nodes_.back().outputs[0] = node().outputs[0];
    return std::move(nodes_);
  }
  // The output of the last node becomes output i of the node, if it has one.
  void give(size_t i) {
    if (i < node().outputs.size() && !node().outputs[i].empty()) nodes_.back().outputs[0] = node().outputs[i];
  }
  const std::string& last() const { return nodes_.back().outputs[0]; }
  bool wants(size_t i) const { return i < node().outputs.size() && !node().outputs[i].empty(); }
  // Whether a node reads output i, or the model gives it.
  bool reads(size_t i) const { return wants(i) && (!spelling_.reads || spelling_.reads(i)); }
  Nodes finish_given() { return std::move(nodes_); }

  Error invalid(const std::string& what) const {
    return {ExitCode::invalid_model, fmt::format("{}: {}", describe(node()), what)};
  }
  Error unsupported(const std::string& what) const {
    return {ExitCode::unsupported, fmt::format("{}: {}", describe(node()), what)};
  }

 private:
  std::string first_output() const {
    for (const std::string& output : node().outputs)
      if (!output.empty()) return output;
    return {};
  }

  // The file may name its own values like this.
  std::string unused(std::string name) const {
    while (spelling_.taken && spelling_.taken(name)) name += '_';
    return name;
  }

  const Spelling& spelling_;
  Nodes nodes_ = {};
  std::string part_ = {};
};

inline bool of_whole_numbers(const Writer& w) {
  return w.element(0) == ElementType::i64 || w.element(0) == ElementType::i32;
}

Result<Nodes> cast_like(Writer& w);
Result<Nodes> einsum(Writer& w, const std::string& equation);
Result<Nodes> gather(Writer& w);
Result<Nodes> gather_nd(Writer& w);
Result<Nodes> scatter_nd(Writer& w);
Result<Nodes> random_like(Writer& w);
Result<Nodes> recurrent(Writer& w);
Result<Nodes> attention(Writer& w);
Result<Nodes> rotary_embedding(Writer& w);
Result<Nodes> tensor_scatter(Writer& w);
Result<Nodes> pad(Writer& w);
Result<Nodes> output_padding(Writer& w);
Result<Nodes> resize(Writer& w);
Result<Nodes> upsample(Writer& w);
Result<Nodes> affine_grid(Writer& w);
Result<Nodes> col2im(Writer& w);
Result<Nodes> fourier_transform(Writer& w);
Result<Nodes> fourier_transforms_of_frames(Writer& w);
// `given`: the scales or sizes, one entry per dimension.
std::string resize_images(Writer& w, const std::string& x, const KnownValue& given);
Result<Nodes> resize_volume(Writer& w, const KnownValue* given);
Result<Nodes> tile(Writer& w);
Result<Nodes> reduce_sum(Writer& w);
Result<Nodes> reduce_extreme(Writer& w);
Result<Nodes> is_infinite(Writer& w);
Result<Nodes> is_nan(Writer& w);
Result<Nodes> remainder(Writer& w);
Result<Nodes> number_of_more_axes(Writer& w);
Result<Nodes> triangle(Writer& w);
Result<Nodes> class_loss_of_probabilities(Writer& w);

}  // namespace plimsoll::spelling
