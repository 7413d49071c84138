// The windows of pooling over depth, height and width; with two dimensions the depth is 1.
//
//   padding | input                                                 kernel 3, dilation 2, stride 3, padding 2
//     . .   | x x x x x x x
//     ^       ^   ^            window 0: the pixels [0, 3) in steps of 2, of which 0 is at position 1
//               ^   ^   ^      window 1: [1, 6), of which 1 is at position 0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/attrs/pool.h"
#include "runtime/attrs/tensor.h"

namespace plimsoll::host {

// The range of one window along one axis.
struct Reach {
  int64_t first, last;  // pixels of the input, every `dilation`-th of [first, last); none if last <= first
  int64_t position;     // of `first` in the window
  int64_t counted;      // positions that an average counts
};

// The windows of the planes of an image: of the channels of a sample that lie together (planes.h).
class PoolWindows {
 public:
  PoolWindows(const PoolAttrs& a, const TensorDesc& x, const TensorDesc& y, int64_t block)
      : planes(x.dim(0) * x.dim(1) / block) {
    const size_t flat = x.rank() == 5 ? 0 : 1;
    const size_t axes = a.kernel.size();
    for (size_t axis = flat; axis < 3; ++axis) {
      const size_t i = axis - flat;
      in[axis] = x.dim(2 + i);
      kernel[axis] = a.kernel[i];
      step[axis] = a.dilations[i];
      for (int64_t at = 0; at < y.dim(2 + i); ++at)
        reaches_[axis].push_back(reach(a.kernel[i], a.dilations[i], at * a.strides[i] - a.pads[i], in[axis],
                                       a.count_padding ? a.pads[i + axes] : 0, a.count_padding));
    }
    if (flat == 1) reaches_[0] = {{0, 1, 0, 1}};
    stride = a.strides[axes - 1];
    padding = a.pads[axes - 1];
    in_plane = in[0] * in[1] * in[2];
    rows = static_cast<int64_t>(reaches_[0].size() * reaches_[1].size());
    columns = static_cast<int64_t>(reaches_[2].size());
  }

  int64_t planes = 0;
  std::array<int64_t, 3> in = {1, 1, 1};                        // pixels of the input: depth, height, width
  std::array<int64_t, 3> kernel = {1, 1, 1}, step = {1, 1, 1};  // step: the dilation
  int64_t stride = 1, padding = 0;                              // of the width
  int64_t in_plane = 0;                                         // pixels
  int64_t rows = 0, columns = 0;                                // of the output; rows of all its layers

  int64_t out_plane() const { return rows * columns; }

  // body(output pixel, reach along the depth, along the height, along the width) for the windows of one row of a plane.
  template <class Body>
  void for_row(int64_t row, Body body) const {
    const Reach depths = layers(row), heights = lines(row);
    for (int64_t column = 0; column < columns; ++column)
      body(row * columns + column, depths, heights, reaches_[2][static_cast<size_t>(column)]);
  }
  // Of the windows of a row: their reach along the depth and along the height.
  Reach layers(int64_t row) const { return reaches_[0][static_cast<size_t>(row) / reaches_[1].size()]; }
  Reach lines(int64_t row) const { return reaches_[1][static_cast<size_t>(row) % reaches_[1].size()]; }

 private:
  static Reach reach(int64_t kernel, int64_t step, int64_t begin, int64_t size, int64_t padding, bool count_padding) {
    const int64_t end = begin + (kernel - 1) * step + 1;
    const auto places = [&](int64_t from, int64_t to) { return to <= from ? 0 : (to - from + step - 1) / step; };
    const int64_t position = begin >= 0 ? 0 : (-begin + step - 1) / step;
    const int64_t first = begin + position * step, last = std::min(end, size);
    return {.first = first,
            .last = last,
            .position = position,
            .counted = count_padding ? places(begin, std::min(end, size + padding)) : places(first, last)};
  }

  std::array<std::vector<Reach>, 3> reaches_;
};

}  // namespace plimsoll::host
