// Attributes of the kernels that generate random numbers.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

struct DropoutAttrs {
  double ratio = 0.5;  // fraction of elements that become zero, in (0, 1]
  int64_t key = 0;     // the node's own key: two layers never share a mask

  template <class Visitor>
  void visit(Visitor&& v) {
    v("ratio", ratio);
    v("key", key);
  }
};

struct RandomMaskAttrs {
  double probability = 1;  // probability that an element is 1, in [0, 1]
  int64_t key = 0;         // the node's own key

  template <class Visitor>
  void visit(Visitor&& v) {
    v("probability", probability);
    v("key", key);
  }
};

// Numbers in [first, second), or normally distributed with mean `first` and standard deviation `second`.
struct RandomNumbersAttrs {
  bool normal = false;
  double first = 0, second = 1;
  int64_t key = 0;  // the node's own key

  template <class Visitor>
  void visit(Visitor&& v) {
    v("normal", normal);
    v("first", first);
    v("second", second);
    v("key", key);
  }
};

}  // namespace plimsoll
