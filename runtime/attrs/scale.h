// For kernels that multiply what they compute by a number known while compiling, and may add another.
#pragma once

namespace plimsoll {

struct ScaleAttrs {
  double scale = 1;
  double shift = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("shift", shift);
  }
};

}  // namespace plimsoll
