// Attributes of the pooling kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// A window over (depth,) height and width. pads = {(front,) top, left, (back,) bottom, right} of the node; with ceil_mode the last windows may
// reach beyond them, which a kernel sees by the output's size.
struct PoolAttrs {
  IntList kernel = {1, 1};
  IntList strides = {1, 1};
  IntList dilations = {1, 1};
  IntList pads = {0, 0, 0, 0};
  bool count_padding = false;  // average: padding counts as zeros, and not as absent

  template <class Visitor>
  void visit(Visitor&& v) {
    v("kernel", kernel);
    v("strides", strides);
    v("dilations", dilations);
    v("pads", pads);
    v("count_padding", count_padding);
  }
};

}  // namespace plimsoll
