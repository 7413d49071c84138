// Attributes of the kernels that read a picture at the places of a grid.
#pragma once

#include <cstdint>

namespace plimsoll {

struct GridSampleAttrs {
  // What lies outside of the picture: 0, the pixel at its edge, or the picture mirrored there.
  static constexpr int64_t kZeros = 0, kBorder = 1, kReflection = 2;

  bool nearest = false;  // the nearest pixel alone, not a mean of those around by how near they are
  int64_t padding = kZeros;
  bool align_corners = false;  // -1 and 1 are the centres of the first and the last pixel, not their outer edges

  template <class Visitor>
  void visit(Visitor&& v) {
    v("nearest", nearest);
    v("padding", padding);
    v("align_corners", align_corners);
  }
};

}  // namespace plimsoll
