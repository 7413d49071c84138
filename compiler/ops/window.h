// The sliding window shared by convolutions and pools: kernel, strides, dilations and pads over two or three
// dimensions.
#pragma once

#include "compiler/ops/node_view.h"

namespace plimsoll {

struct Window {
  IntList kernel = {1, 1};  // [H, W] or [D, H, W]; the other lists alike
  IntList strides = {1, 1};
  IntList dilations = {1, 1};
  IntList pads = {0, 0, 0, 0};  // before each dimension, then after each: top, left, bottom, right
  bool ceil_mode = false;       // pools: the last window may start in the input and end beyond the padding

  size_t rank() const { return kernel.size(); }

  // Spatial dimensions of the output for x = [N, C, H, W] or [N, C, D, H, W]. Error: the window is larger than the
  // padded input.
  Result<IntList> output(const NodeView& node, const TensorType& x) const;
};

// From the node's strides, dilations, pads, auto_pad and ceil_mode; auto_pad is resolved against input 0.
Result<Window> window_of(const NodeView& node, const IntList& kernel);

// Whether x is [N, C, H, W] or [N, C, D, H, W].
inline bool has_window_rank(const TensorType& x) { return x.rank() == 4 || x.rank() == 5; }

// The spatial dimensions of weights [O, I, …].
IntList spatial_of(const TensorType& weights);

// [samples, channels, spatial…]
Dims image_dims(const Dim& samples, const Dim& channels, const IntList& spatial);

// The number of elements of a window.
int64_t elements_of(const IntList& kernel);

}  // namespace plimsoll
