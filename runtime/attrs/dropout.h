// Attributes of the dropout kernel.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

struct DropoutAttrs {
  double ratio = 0.5;  // of elements that become zero, in (0, 1]
  int64_t key = 0;     // the node's own: two layers never share a mask

  template <class Visitor>
  void visit(Visitor&& v) {
    v("ratio", ratio);
    v("key", key);
  }
};

}  // namespace plimsoll
