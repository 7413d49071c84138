// Attributes of the pooling kernels.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// A window over (depth,) height and width. pads = {(front,) top, left, (back,) bottom, right} as in the node; with
// ceil_mode the last windows may extend beyond them, which the output's size determines.
struct PoolAttrs {
  IntList kernel = {1, 1};
  IntList strides = {1, 1};
  IntList dilations = {1, 1};
  IntList pads = {0, 0, 0, 0};
  bool count_padding = false;  // average: padding counts as zeros instead of being excluded

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
