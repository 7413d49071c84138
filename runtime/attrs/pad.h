// Attributes of the padding kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// begin: elements put in front of each axis; negative ones are cut off. What is put behind follows from the dimensions.
struct PadAttrs {
  IntList begin = {};
  double value = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("begin", begin);
    v("value", value);
  }
};

// PadAxis: pads one axis with elements of the input. Element i of the result is element i - begin of the input. An index
// outside of the input is clamped (edge), mirrored at the first and the last element (reflect), or taken modulo the size
// (wrap).
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
