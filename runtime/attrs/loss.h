// Attributes of the fused loss kernels: the loss, the number of hits and the gradient in one pass.
#pragma once

#include <cstdint>

namespace plimsoll {

// `scale` is one over the number of elements of the mean, over the whole iteration, so that the shares of the rounds
// add up.
struct SoftmaxCrossEntropyAttrs {
  double scale = 1;
  int64_t ignore_index = -1;  // negative labels are ignored regardless of this value
  double smoothing = 0;       // the part of the label's probability that is distributed over all classes
  bool sum = false;           // a sum over labels, without a divisor
  bool counts = false;        // a mean whose divisor the kernel computes from its labels, which are complete
  // a mean with the divisor of this input of the trainer (RunContext::label_scales); -1: of its last input
  int64_t fed = -1;
  bool term = false;  // of the model's own loss: another task multiplies the gradient, also by the run's scale

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("ignore_index", ignore_index);
    v("smoothing", smoothing);
    v("sum", sum);
    v("counts", counts);
    v("fed", fed);
    v("term", term);
  }
};

// The cross entropy of a product, whose logits are computed and consumed some rows at a time.
// The first five as above; it is never a term.
struct LinearCrossEntropyAttrs {
  double scale = 1;
  int64_t ignore_index = -1;
  double smoothing = 0;
  bool sum = false;
  bool counts = false;
  bool transposed = false;  // the weight is [C, K], not [K, C]

  SoftmaxCrossEntropyAttrs of_logits() const {
    return {.scale = scale, .ignore_index = ignore_index, .smoothing = smoothing, .sum = sum, .counts = counts};
  }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("ignore_index", ignore_index);
    v("smoothing", smoothing);
    v("sum", sum);
    v("counts", counts);
    v("transposed", transposed);
  }
};

// Each number of rows at a time is an algorithm, the fastest first: more rows need a larger workspace, and the weight
// is read from memory less often. Only the last is offered if there are no more rows than that.
inline constexpr int64_t kRowsOfLogits[] = {512, 256, 128, 64};

// For losses that are not reduced: one per label, 0 for ignored labels.
struct CrossEntropyEachAttrs {
  int64_t ignore_index = -1;
  double smoothing = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("ignore_index", ignore_index);
    v("smoothing", smoothing);
  }
};

struct MseAttrs {
  double scale = 1;

  template <class Visitor>
  void visit(Visitor&& v) { v("scale", scale); }
};

// Weights are one for all elements or one for each class; `inner` elements of one class follow each other.
struct BinaryCrossEntropyAttrs {
  double scale = 1;
  double smoothing = 0;  // the part of a target that is replaced by 0.5
  int64_t inner = 1;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("smoothing", smoothing);
    v("inner", inner);
  }
};

}  // namespace plimsoll
