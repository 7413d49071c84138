// The sliding window that convolutions and pools share: kernel, strides, dilations and pads over two dimensions.
#pragma once

#include <array>

#include "compiler/ops/node_view.h"

namespace plimsoll {

struct Window {
  IntList kernel = {1, 1};
  IntList strides = {1, 1};
  IntList dilations = {1, 1};
  IntList pads = {0, 0, 0, 0};  // top, left, bottom, right
  bool ceil_mode = false;       // pools: the last window may start in the input and end beyond the padding

  // Height and width of the output for x = [N, C, H, W]. Error: the window is larger than the padded input.
  Result<std::array<int64_t, 2>> output(const NodeView& node, const TensorType& x) const;
};

// From strides, dilations, pads, auto_pad and ceil_mode of a node; auto_pad is resolved against input 0.
Result<Window> window_of(const NodeView& node, int64_t kernel_height, int64_t kernel_width);

}  // namespace plimsoll
