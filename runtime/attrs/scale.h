// For kernels that multiply their result by a number known at compile time, and may add another.
#pragma once

#include "runtime/attrs/tensor.h"

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

// For sums over samples.
struct SampleSumAttrs {
  // for a mean over the iteration: one over its number of elements, so that the shares of the rounds add up
  double scale = 1;
  bool mean = false;      // RunContext::loss_scale corrects for an incomplete batch
  bool of_round = false;  // a mean over the present samples, because all are in one round: `scale` is not used

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("mean", mean);
    v("of_round", of_round);
  }

  // A sum needs no correction, but must signal a bad batch: `loss_scale` is then NaN.
  constexpr float of_batch(double loss_scale) const {
    return static_cast<float>(mean || loss_scale != loss_scale ? scale * loss_scale : scale);
  }
};

// The attributes for reducing `x` to `y` over the present samples.
constexpr SampleSumAttrs of_what_is_there(SampleSumAttrs attrs, const TensorDesc& x, const TensorDesc& y) {
  if (!attrs.of_round) return attrs;
  return {.scale = static_cast<double>(y.elements()) / static_cast<double>(x.elements())};
}

}  // namespace plimsoll
