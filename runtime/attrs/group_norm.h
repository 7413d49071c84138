// Attributes of the group normalization kernels.
#pragma once

#include <cstdint>

namespace plimsoll {

struct GroupNormAttrs {
  double epsilon = 1e-5;
  int64_t groups = 1;  // number of channel groups per sample
  bool swish = false;  // y = swish(normalized); the backward then reads the bias

  template <class Visitor>
  void visit(Visitor&& v) {
    v("epsilon", epsilon);
    v("groups", groups);
    v("swish", swish);
  }
};

}  // namespace plimsoll
