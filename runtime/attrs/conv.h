// Attributes of the convolution kernels, shared by compiler/ops/conv.cpp and every backend.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// Two or three spatial dimensions. pads = {(front,) top, left, (back,) bottom, right}, already resolved from ONNX
// auto_pad.
struct ConvAttrs {
  IntList strides = {1, 1};
  IntList dilations = {1, 1};
  IntList pads = {0, 0, 0, 0};
  int64_t group = 1;
  bool relu = false;  // ConvForward: y = relu(conv(x))

  template <class Visitor>
  void visit(Visitor&& v) {
    v("strides", strides);
    v("dilations", dilations);
    v("pads", pads);
    v("group", group);
    v("relu", relu);
  }
};

}  // namespace plimsoll
