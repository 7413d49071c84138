#include "compiler/network/simplify/sample_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {
namespace {

class MeanWriter {
 public:
  MeanWriter(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& division, int64_t count)
      : model_(model), uses_(uses), table_(table), division_(division), count_(count) {}

  std::optional<std::vector<ModelNode>> run() {
    if (divided(division_.inputs[0]).empty()) return std::nullopt;
    if (nodes_.back().op == "Constant") return std::nullopt;
    nodes_.back().name = division_.name;
    nodes_.back().outputs[0] = division_.outputs[0];
    return std::move(nodes_);
  }

 private:
  // The name of `sum` divided by the samples; empty: it is no sum over them.
  std::string divided(const std::string& sum) {
    const auto maker = uses_.maker.find(sum);
    if (maker == uses_.maker.end()) return {};
    const ModelNode& node = model_.nodes[static_cast<size_t>(maker->second)];
    if (!is_of_onnx(node) || node.outputs[0] != sum || node.inputs.empty() || node.inputs[0].empty()) return {};
    if (node.op == "ReduceSum") return mean(node);
    if (node.op == "Add" || node.op == "Sub") {
      const std::string left = divided(node.inputs[0]);
      const std::string right = left.empty() ? left : divided(node.inputs[1]);
      return right.empty() ? right : write(node.op, {left, right});
    }
    if (node.op == "Neg" || node.op == "Identity") {
      const std::string inner = divided(node.inputs[0]);
      return inner.empty() ? inner : write(node.op, {inner});
    }
    if (node.op != "Mul" && node.op != "Div") return {};
    if (is_number(node.inputs[1])) {
      const std::string inner = divided(node.inputs[0]);
      return inner.empty() ? inner : write(node.op, {inner, node.inputs[1]});
    }
    if (node.op == "Div" || !is_number(node.inputs[0])) return {};
    const std::string inner = divided(node.inputs[1]);
    return inner.empty() ? inner : write(node.op, {node.inputs[0], inner});
  }

  bool is_number(const std::string& name) {
    const KnownValue* known = name.empty() ? nullptr : table_.known(table_.find(name));
    return known && known->real() && known->elements() == 1;
  }

  // Over the axis of the samples the mean; the other axes are added up as before.
  std::string mean(const ModelNode& sum) {
    const Dims* x = table_.dims(table_.find(sum.inputs[0]));
    const ValueTable::Index index = table_.find(sum.inputs[0]);
    if (!x || (table_[index].known && table_[index].known->depends_on_batch())) return {};
    const auto rows = std::find_if(x->begin(), x->end(), [](Dim dim) { return dim.batch; });
    if (rows == x->end()) return {};
    const auto axes = axes_of(sum, static_cast<int64_t>(x->size()));
    const int64_t of_samples = rows - x->begin(), per_sample = rows->value;
    if (!axes || std::find(axes->begin(), axes->end(), of_samples) == axes->end()) return {};
    const ModelAttribute* const given = find_attribute(sum, "keepdims");
    const int64_t keeps = given ? given->integer() : 1;
    const bool alone = axes->size() == 1;
    std::string total = write("ReduceMean", {sum.inputs[0]});
    set("axes", std::vector{of_samples});
    set("keepdims", alone ? keeps : 1);
    if (!alone) {
      total = write("ReduceSum", {total});
      set("axes", *axes);
      set("keepdims", keeps);
    }
    if (per_sample == count_) return total;
    const std::string factor = write("Constant", {});
    set("value_float", static_cast<float>(per_sample) / static_cast<float>(count_));
    return write("Mul", {total, factor});
  }

  std::optional<std::vector<int64_t>> axes_of(const ModelNode& sum, int64_t rank) {
    std::vector<int64_t> axes;
    if (sum.inputs.size() > 1 && !sum.inputs[1].empty()) {
      const KnownValue* known = table_.known_constant(table_.find(sum.inputs[1]));
      if (!known || known->real() || known->depends_on_batch()) return std::nullopt;
      for (size_t i = 0; i < static_cast<size_t>(*known->elements()); ++i) axes.push_back(known->integer(i).value);
    } else if (const ModelAttribute* given = find_attribute(sum, "axes")) {
      axes = given->integers();
    }
    if (axes.empty()) {
      if (const ModelAttribute* none = find_attribute(sum, "noop_with_empty_axes"); none && none->integer() != 0)
        return std::nullopt;
      axes.resize(static_cast<size_t>(rank));
      std::iota(axes.begin(), axes.end(), int64_t{0});
    }
    for (int64_t& axis : axes) {
      if (axis < -rank || axis >= rank) return std::nullopt;
      if (axis < 0) axis += rank;
    }
    return axes;
  }

  std::string write(const std::string& op, const std::vector<std::string>& inputs) {
    ModelNode& node = nodes_.emplace_back();
    node.op = op;
    node.name =
        fmt::format("{}/{}_{}", division_.name.empty() ? division_.outputs[0] : division_.name, op, nodes_.size());
    node.metadata = division_.metadata;
    node.inputs = inputs;
    node.outputs = {fmt::format("{}/of_samples_{}", division_.outputs[0], nodes_.size())};
    return node.outputs[0];
  }

  template <class T>
  void set(const char* name, T value) {
    nodes_.back().attributes.push_back({.name = name, .value = std::move(value)});
  }

  const Model& model_;
  const GraphUses& uses_;
  ValueTable& table_;
  const ModelNode& division_;
  const int64_t count_;
  std::vector<ModelNode> nodes_ = {};
};

}  // namespace

std::optional<int64_t> counted_samples(ValueTable& table, const ModelNode& node) {
  if (node.op != "Cast" || !is_of_onnx(node) || node.inputs.size() != 1 || node.inputs[0].empty()) return std::nullopt;
  const ModelAttribute* const to = find_attribute(node, "to");
  if (!to || to->element() != ElementType::f32) return std::nullopt;
  const KnownValue* const known = table.known(table.find(node.inputs[0]));
  if (!known || known->real() || known->elements() != 1 || !known->probes.empty() || !known->ints[0].batch)
    return std::nullopt;
  return known->ints[0].value > 0 ? std::optional(known->ints[0].value) : std::nullopt;
}

std::optional<std::vector<ModelNode>> divided_by_samples(const Model& model, const GraphUses& uses, ValueTable& table,
                                                         const ModelNode& division, int64_t count) {
  return MeanWriter(model, uses, table, division, count).run();
}

}  // namespace plimsoll
