// Attributes of the batch normalization kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// running = momentum * running + (1 - momentum) * batch: ONNX's momentum, which is one minus PyTorch's.
struct BatchNormAttrs {
  double epsilon = 1e-5;
  double momentum = 0.9;
  bool frozen = false;  // normalizes by the running statistics, also in training, and does not update them
  // At most one: the activation of y. With `relu` the backward reads y, with the others the bias.
  bool relu = false, swish = false, hard_swish = false;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("epsilon", epsilon);
    v("momentum", momentum);
    v("frozen", frozen);
    v("relu", relu);
    v("swish", swish);
    v("hard_swish", hard_swish);
  }
};

}  // namespace plimsoll
