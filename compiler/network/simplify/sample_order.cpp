#include "compiler/network/simplify/sample_order.h"

#include <algorithm>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/sample_indices.h"

namespace plimsoll {
namespace {

// Whether the order, or a Cast of it, is what a ScatterElements scatters by. No output of the model may show it.
bool is_inverted(const Model& model, const GraphUses& uses, const std::string& order) {
  bool inverted = false;
  std::vector<std::string> names = {order};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto readers = uses.readers.find(names[i]);
    if (readers == uses.readers.end()) continue;
    for (const int reader : readers->second) {
      if (reader < 0) return false;
      const ModelNode& node = model.nodes[static_cast<size_t>(reader)];
      if (node.op == "Cast") names.push_back(node.outputs[0]);
      inverted = inverted || (node.op == "ScatterElements" && node.inputs.size() == 3 && node.inputs[1] == names[i]);
    }
  }
  return inverted;
}

// The numbers 0 … N-1 in one dimension.
bool counts_samples(ValueTable& table, const std::string& name, std::optional<int64_t> exported_batch) {
  const KnownValue* known = name.empty() ? nullptr : table.known(table.find(name));
  return known && known->dims.size() == 1 && step_of_samples(*known, exported_batch) == 1;
}

int64_t axis_of(const ModelNode& node, int64_t missing, size_t rank) {
  const ModelAttribute* axis = find_attribute(node, "axis");
  const int64_t given = axis ? axis->integer() : missing;
  return given < 0 ? given + static_cast<int64_t>(rank) : given;
}

}  // namespace

std::optional<InOrder> in_order(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& node,
                                std::optional<int64_t> exported_batch) {
  const bool selects = node.op == "TopK", inverts = node.op == "ScatterElements";
  if (!is_of_onnx(node) || (!selects && !inverts && node.op != "Gather") || node.inputs.size() < 2 ||
      std::ranges::count(node.inputs, "") > 0)
    return std::nullopt;
  const Dims* x = table.dims(table.find(node.inputs[0]));
  if (!x) return std::nullopt;
  if (selects) {
    const KnownValue* count = table.known(table.find(node.inputs[1]));
    const bool all = count && !count->real() && count->elements() == 1 &&
                     (count->integer(0) == kBatch || (exported_batch && count->integer(0) == Dim{*exported_batch}));
    if (*x != Dims{kBatch} || !all || node.outputs.size() != 2 || !is_inverted(model, uses, node.outputs[1]))
      return std::nullopt;
    return InOrder{.input = 0,
                   .order = KnownValue{.element = ElementType::i64, .dims = {kBatch}, .ints = {{0}}, .steps = {1}}};
  }
  if (!counts_samples(table, node.inputs[1], exported_batch)) return std::nullopt;
  const auto axis = static_cast<size_t>(axis_of(node, 0, x->size()));
  if (inverts) {
    const bool same = *x == Dims{kBatch} && node.inputs.size() == 3 && !find_attribute(node, "reduction");
    return same ? std::optional(InOrder{.input = 2}) : std::nullopt;
  }
  return axis < x->size() && (*x)[axis] == kBatch ? std::optional(InOrder{.input = 0}) : std::nullopt;
}

}  // namespace plimsoll
