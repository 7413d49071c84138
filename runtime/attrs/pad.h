// Attributes of the padding kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// begin: the number of elements added before each axis; negative values crop. The number added at the end follows from
// the dimensions.
struct PadAttrs {
  IntList begin = {};
  double value = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("begin", begin);
    v("value", value);
  }
};

// PadAxis: pads one axis with elements of the input. Element i of the result is element i - begin of the input. An
// index outside the input is clamped (edge), reflected at the first and the last element (reflect), or taken modulo the
// size (wrap).
struct PadAxisAttrs {
  static constexpr int64_t kEdge = 0, kReflect = 1, kWrap = 2;

  int64_t axis = 0;
  int64_t begin = 0;
  int64_t mode = kEdge;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("axis", axis);
    v("begin", begin);
    v("mode", mode);
  }
};

}  // namespace plimsoll
