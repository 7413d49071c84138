// Attributes of the padding kernel.
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

}  // namespace plimsoll
