// Attributes of local response normalization.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
struct LrnAttrs {
  int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("size", size);
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
  }
};

}  // namespace plimsoll
