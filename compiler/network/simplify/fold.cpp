#include "compiler/network/simplify/fold.h"

#include <algorithm>

#include "compiler/network/simplify/fold_alike.h"
#include "compiler/network/simplify/progression.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

Known by_rule(const KnownCall& call) {
  const Op* op = find_onnx_op(call.node.op);
  return op && op->evaluate ? op->evaluate(call) : std::nullopt;
}

}  // namespace

Known fold(const ModelNode& node, int64_t opset, const std::vector<KnownInput>& inputs) {
  if (Known known = fold_progression(node, inputs)) return known;
  const Op* op = find_onnx_op(node.op);
  const bool numbered =
      !(op && op->reads_shapes) && std::any_of(inputs.begin(), inputs.end(), [](const KnownInput& input) {
        return input.known && !(input.known->steps.empty() && input.known->probes.empty());
      });
  const KnownCall call{node, opset, inputs};
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
