// Attributes of the kernels that resize images.
#pragma once

#include <cstdint>

namespace plimsoll {

// Row `o` of the result is at start + o · step in the rows of the input; columns likewise.
struct ResizeAttrs {
  // How a position between two pixels is evaluated: by linear interpolation, or as one of the two.
  static constexpr int64_t kLinear = 0, kFloor = 1, kCeil = 2, kPreferFloor = 3, kPreferCeil = 4;

  double row_start = 0, row_step = 1;
  double column_start = 0, column_step = 1;
  int64_t nearest = kLinear;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("row_start", row_start);
    v("row_step", row_step);
    v("column_start", column_start);
    v("column_step", column_step);
    v("nearest", nearest);
  }
};

}  // namespace plimsoll
