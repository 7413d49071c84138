// Attributes of the fused loss kernels: the loss, the count of hits and the gradient in one pass.
#pragma once

#include <cstdint>

namespace plimsoll {

// `scale` is one over the elements of the mean: over the whole iteration, so that the rounds' shares add up.
struct SoftmaxCrossEntropyAttrs {
  double scale = 1;
  int64_t ignore_index = -1;  // negative labels are never counted, whatever this says
  double smoothing = 0;       // of the label's probability, dealt out to all classes
  bool sum = false;           // a sum over labels: nothing is divided by
  bool counts = false;        // a mean whose divisor the kernel finds itself, from the labels that it is given: they are all there
  int64_t fed = -1;           // a mean whose divisor is that of this input of the trainer (RunContext::label_scales); -1: of its last

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("ignore_index", ignore_index);
    v("smoothing", smoothing);
    v("sum", sum);
    v("counts", counts);
    v("fed", fed);
  }
};

// Of losses that are not added up: one for each label, 0 where it is not counted.
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

struct BinaryCrossEntropyAttrs {
  double scale = 1;

  template <class Visitor>
  void visit(Visitor&& v) { v("scale", scale); }
};

}  // namespace plimsoll
