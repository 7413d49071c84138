// Identity: y is x; no task.
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace identity {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  return std::vector{node.input_type(0)};
}

std::vector<Sample> samples() {
  return {{.name = "image", .inputs = {{.dims = {kBatch, {32}, {3}, {4}}}}},
          {.name = "parameter", .inputs = {{.dims = {{3}, {4}}, .kind = ValueKind::parameter}}}};
}

}  // namespace identity

const Op op_Identity{.name = "Identity",
                     .infer = identity::infer,
                     .forward = forward_alias,
                     .backward = backward_alias,
                     .layout = LayoutRule::elementwise,
                     .adds_up = adds_up_first,
                     .samples = identity::samples};

}  // namespace plimsoll
