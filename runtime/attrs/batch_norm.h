// Attributes of the batch normalization kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// running = momentum * running + (1 - momentum) * batch: ONNX's momentum, which is one minus PyTorch's.
struct BatchNormAttrs {
  double epsilon = 1e-5;
  double momentum = 0.9;
  bool frozen = false;  // normalizes by the running statistics, also in training, and does not update them
  bool relu = false, swish = false, hard_swish = false;  // at most one: the activation of y

  // Of the backward. It computes the input of a Swish or HardSwish again; of a Relu it reads y.
  bool reads_bias() const { return swish || hard_swish; }

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
