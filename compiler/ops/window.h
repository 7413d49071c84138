// The sliding window that convolutions and pools share: kernel, strides, dilations and pads over two or three dimensions.
#pragma once

#include "compiler/ops/node_view.h"

namespace plimsoll {

struct Window {
  IntList kernel = {1, 1};  // [H, W] or [D, H, W], and the others alike
  IntList strides = {1, 1};
  IntList dilations = {1, 1};
  IntList pads = {0, 0, 0, 0};  // those before each dimension, then those after: top, left, bottom, right
  bool ceil_mode = false;       // pools: the last window may start in the input and end beyond the padding

  size_t rank() const { return kernel.size(); }

  // Spatial dimensions of the output for x = [N, C, H, W] or [N, C, D, H, W]. Error: the window is larger than the padded input.
  Result<IntList> output(const NodeView& node, const TensorType& x) const;
};

// From strides, dilations, pads, auto_pad and ceil_mode of a node; auto_pad is resolved against input 0.
Result<Window> window_of(const NodeView& node, const IntList& kernel);

// Whether x is [N, C, H, W] or [N, C, D, H, W].
inline bool has_window_rank(const TensorType& x) { return x.rank() == 4 || x.rank() == 5; }

// The spatial dimensions of weights [O, I, …].
IntList spatial_of(const TensorType& weights);

// [samples, channels, spatial…]
Dims image_dims(const Dim& samples, const Dim& channels, const IntList& spatial);

// How many elements a window has.
int64_t elements_of(const IntList& kernel);

}  // namespace plimsoll
