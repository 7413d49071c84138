// Attributes of the fused loss kernels: the loss, the count of hits and the gradient in one pass.
#pragma once

#include <cstdint>

namespace plimsoll {

// `scale` is one over the elements of the mean: over the whole iteration, so that the rounds' shares add up.
struct SoftmaxCrossEntropyAttrs {
  double scale = 1;
  int64_t ignore_index = -1;  // negative labels are never counted, whatever this says

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("ignore_index", ignore_index);
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
