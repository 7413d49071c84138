#include "compiler/ops/op.h"

#include <algorithm>
#include <array>

#include "compiler/ops/activation.h"

namespace plimsoll {
namespace {

constexpr std::array kAllOps = {
#define OP(name) &op_##name,
#include "compiler/ops/ops.def"
#undef OP
};

}  // namespace

const Op* find_op(std::string_view name) {
  for (const Op* op : kAllOps)
    if (op->name == name) return op;
  return nullptr;
}

std::span<const Op* const> all_ops() { return kAllOps; }

const Op* find_onnx_op(std::string_view name) {
  if (const Op* op = find_op(name)) return op->of_onnx() ? op : nullptr;
  for (const Op& op : rewritten_ops())
    if (op.name == name) return &op;
  return nullptr;
}

Slot slot_of(const Op& op, size_t input) {
  return op.inputs.empty() ? Slot::data : op.inputs[std::min(input, op.inputs.size() - 1)];
}

Slot slot_of(std::string_view op, size_t input) {
  const Op* known = find_onnx_op(op);
  return known ? slot_of(*known, input) : Slot::data;
}

bool has_attribute(const Op& op, std::string_view name) {
  return std::any_of(op.attributes.begin(), op.attributes.end(),
                     [&](const AttributeRule& rule) { return rule.name == name; });
}

bool has_slope(const Op& op, size_t input) {
  if (op.flat || (op.backward == zero_gradient && op.element_type.empty())) return false;
  return std::find(op.without_gradient.begin(), op.without_gradient.end(), input) == op.without_gradient.end();
}

}  // namespace plimsoll
