// Attributes of the batch normalization kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// running = momentum * running + (1 - momentum) * batch: ONNX's momentum, which is one minus PyTorch's.
struct BatchNormAttrs {
  double epsilon = 1e-5;
  double momentum = 0.9;
  bool frozen = false;  // normalizes by the running statistics, also in training, and does not update them
  bool relu = false;  // y = max(normalized, 0); the backward then reads y, too

  template <class Visitor>
  void visit(Visitor&& v) {
    v("epsilon", epsilon);
    v("momentum", momentum);
    v("frozen", frozen);
    v("relu", relu);
  }
};

}  // namespace plimsoll
