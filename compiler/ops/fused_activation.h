// For operators that can apply an activation to their result (network/fuse.h): which one, its operations, and the mask
// of a Relu in the backward.
#pragma once

#include "compiler/ops/task_builder.h"

namespace plimsoll {

// For Op::absorbs.
inline bool only_relu(const NodeView&, FusedActivation activation) { return activation == FusedActivation::relu; }
inline bool only_swish(const NodeView&, FusedActivation activation) { return activation == FusedActivation::swish; }

// Operations per element: of y, and of dx = dy · slope. The bytes decide the time of a Relu.
struct ActivationFlops {
  int64_t forward = 0, backward = 0;
};
constexpr ActivationFlops flops_of(FusedActivation activation) {
  switch (activation) {
    case FusedActivation::swish: return {20, 25};
    case FusedActivation::hard_swish: return {4, 6};
    default: return {};
  }
}

inline bool has_relu(const NodeView& node) { return node.node().marks.activation == FusedActivation::relu; }

// The gradient with respect to the Relu's input: the output's gradient where the output is positive, else 0. It is
// computed by a separate task that may work in place. Without a Relu it is the output's gradient, unchanged.
inline Operand gradient_before_relu(TaskBuilder& build) {
  if (!has_relu(build.node())) return build.read_gradient(0);
  const Operand before = build.write_scratch("dpre", build.node().output_type(0));
  build.task({.kernel = "ReluBackward",
              .kind = TaskKind::backward,
              .operands = {build.read_output(0), build.read_gradient(0), before},
              .in_place = {{1, 2}},
              .flops = flops_per_element(build.node().output_type(0), 1)});
  return as_read(before);
}

}  // namespace plimsoll
