// Attributes of the kernels that sample an image at the positions of a grid.
#pragma once

#include <cstdint>

namespace plimsoll {

// The parameter of the cubic kernel, as in PyTorch and as ONNX prescribes.
inline constexpr float kGridCubic = -0.75F;

struct GridSampleAttrs {
  // The values outside the image: 0, the pixel at its edge, or the image reflected there.
  static constexpr int64_t kZeros = 0, kBorder = 1, kReflection = 2;

  bool nearest = false;  // the nearest pixel instead of the weighted mean of the neighbours
  bool cubic = false;    // cubic convolution over four pixels along each axis, of images
  int64_t padding = kZeros;
  bool align_corners = false;  // -1 and 1 are the centres of the first and the last pixel, not their outer edges

  template <class Visitor>
  void visit(Visitor&& v) {
    v("nearest", nearest);
    v("cubic", cubic);
    v("padding", padding);
    v("align_corners", align_corners);
  }
};

}  // namespace plimsoll
