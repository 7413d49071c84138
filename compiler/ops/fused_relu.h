// For operators that can end in a Relu of their own (network/fuse.h): the mark, and the mask in the backward.
#pragma once

#include "compiler/ops/task_builder.h"

namespace plimsoll {

inline bool has_relu(const NodeView& node) { return node.node().marks.relu; }

// The gradient of what stood before the Relu: that of the output where the output is positive. A task of its own that
// may work in place; without a Relu it is the gradient of the output as it stands.
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
