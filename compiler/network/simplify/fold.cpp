#include "compiler/network/simplify/fold.h"

#include <algorithm>

#include "compiler/network/simplify/fold_alike.h"
#include "compiler/ops/op.h"
#include "compiler/ops/progression.h"

namespace plimsoll {
namespace {

Known by_rule(const KnownCall& call) {
  const Op* op = find_onnx_op(call.node.op);
  return op && op->evaluate ? op->evaluate(call) : std::nullopt;
}

bool any_batch(const std::vector<Dim>& items) {
  return std::any_of(items.begin(), items.end(), [](Dim item) { return item.batch; });
}

// Evenly spaced integers, if the shape of an input depends on the batch, or if a shape that the node reads does.
Known by_spacing(const KnownCall& call) {
  const Op* op = find_onnx_op(call.node.op);
  if (!op || !op->evaluate_spaced) return std::nullopt;
  bool of_samples = false;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (const KnownValue* known = call.known(i))
      of_samples = of_samples || any_batch(known->dims) || (is_shape(slot_of(op->name, i)) && any_batch(known->ints));
  const auto first = of_samples ? progression_of(call.known(0)) : std::nullopt;
  const auto made = first ? op->evaluate_spaced(call, *first) : std::nullopt;
  return made && any_batch(made->dims) ? known_of(*made) : std::nullopt;
}

}  // namespace

Known fold(const ModelNode& node, int64_t opset, const std::vector<KnownInput>& inputs) {
  const KnownCall call{node, opset, inputs};
  if (Known known = by_spacing(call)) return known;
  const Op* op = find_onnx_op(node.op);
  const bool numbered =
      !(op && op->reads_shapes) && std::any_of(inputs.begin(), inputs.end(), [](const KnownInput& input) {
        return input.known && !(input.known->steps.empty() && input.known->probes.empty());
      });
  if (Known known = numbered ? std::nullopt : by_rule(call)) return known;
  return folding::alike(call, by_rule);
}

bool can_fold(std::string_view name) {
  const Op* op = find_onnx_op(name);
  return op && op->evaluate;
}

std::vector<std::string_view> folded_operators() {
  std::vector<std::string_view> names;
  for (const Op* op : all_ops())
    if (op->evaluate) names.push_back(op->name);
  for (const Op& op : rewritten_ops())
    if (op.evaluate) names.push_back(op.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plimsoll
