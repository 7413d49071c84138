// For kernels that multiply what they compute by a number known while compiling, and may add another.
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
  double scale = 1;       // of a mean over the iteration: one over its elements, so that the rounds' shares add up
  bool mean = false;      // RunContext::loss_scale makes up for a batch that is not whole
  bool of_round = false;  // a mean over what is there, all samples being in one round: `scale` does not count

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("mean", mean);
    v("of_round", of_round);
  }

  // A sum needs nothing of the trainer, but hears of a batch that is bad: then `loss_scale` is NaN.
  constexpr float of_batch(double loss_scale) const {
    return static_cast<float>(mean || loss_scale != loss_scale ? scale * loss_scale : scale);
  }
};

// The attributes of a sum of `x` that is `y`.
constexpr SampleSumAttrs of_what_is_there(SampleSumAttrs attrs, const TensorDesc& x, const TensorDesc& y) {
  if (!attrs.of_round) return attrs;
  return {.scale = static_cast<double>(y.elements()) / static_cast<double>(x.elements())};
}

}  // namespace plimsoll
