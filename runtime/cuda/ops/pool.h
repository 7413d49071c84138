// Windows over the pixels of a plane or over a volume: in the forward, the pixels that a window covers; in the
// backward, the windows that cover a pixel.
#pragma once

#include "runtime/attrs/pool.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

// One axis of a pool. Divisions by a number that is not a constant are most of a pool's instructions: without dilation
// there are none by it.
struct PoolAxis {
  int32_t in, out, kernel, stride, dilation, pad_begin, pad_end;

  // The first position of window `at`; positions are `dilation` apart.
  __device__ int begin(int at) const { return at * stride - pad_begin; }
  // The first position of the window that is in the input.
  __device__ int first_place(int at) const {
    const int from = begin(at);
    if (from >= 0) return 0;
    return dilation == 1 ? -from : (-from + dilation - 1) / dilation;
  }
  // The windows that may cover pixel `at`: [first_window, last_window].
  __device__ int first_window(int at) const {
    const int reach = at + pad_begin - (kernel - 1) * dilation;
    return reach <= 0 ? 0 : (reach + stride - 1) / stride;
  }
  __device__ int last_window(int at) const {
    const int last = (at + pad_begin) / stride;
    return last < out ? last : out - 1;
  }
  // The position of pixel `at` in window `window`; -1: the window skips it.
  __device__ int place_of(int at, int window) const {
    const int from = at - begin(window);
    if (dilation == 1) return from;
    return from % dilation == 0 ? from / dilation : -1;
  }
};

inline PoolAxis pool_axis(const PoolAttrs& a, const TensorDesc& x, const TensorDesc& y, size_t i) {
  const auto narrow = [](int64_t value) {
    if (value < 0 || value > (int64_t{1} << 28)) throw KernelError("a pool over too many pixels");
    return static_cast<int32_t>(value);
  };
  return {narrow(x.dim(2 + i)),
          narrow(y.dim(2 + i)),
          narrow(a.kernel[i]),
          narrow(a.strides[i]),
          narrow(a.dilations[i]),
          narrow(a.pads[i]),
          narrow(a.pads[i + a.kernel.size()])};
}

// Two spatial dimensions.
struct PoolShape {
  int64_t planes;
  int64_t step;  // from one pixel of a plane to the next: 1, or the number of channels with channels last
  PoolAxis rows, columns;

  PoolShape(const PoolAttrs& a, const TensorDesc& x, const TensorDesc& y)
      : planes(x.dim(0) * x.dim(1)),
        step(is_channels_last(x) ? x.dim(1) : 1),
        rows(pool_axis(a, x, y, 0)),
        columns(pool_axis(a, x, y, 1)) {}

  __host__ __device__ int64_t inputs() const { return planes * rows.in * columns.in; }
  __host__ __device__ int64_t outputs() const { return planes * rows.out * columns.out; }
};

// Three spatial dimensions. These tensors are plain: number = ((plane · depth + layer) · height + row) · width +
// column.
struct VolumePoolShape {
  int64_t planes;
  PoolAxis layers, rows, columns;

  VolumePoolShape(const PoolAttrs& a, const TensorDesc& x, const TensorDesc& y)
      : planes(x.dim(0) * x.dim(1)),
        layers(pool_axis(a, x, y, 0)),
        rows(pool_axis(a, x, y, 1)),
        columns(pool_axis(a, x, y, 2)) {}

  __host__ __device__ int64_t inputs() const { return planes * layers.in * rows.in * columns.in; }
  __host__ __device__ int64_t outputs() const { return planes * layers.out * rows.out * columns.out; }
};

// The coordinates of a thread's pixel of a volume.
struct VolumePixel {
  int64_t plane;
  int layer, row, column;
};

__device__ inline VolumePixel volume_pixel_of(int64_t number, int depth, int height, int width) {
  const int64_t row = number / width, layer = row / height;
  return {layer / depth, static_cast<int>(layer % depth), static_cast<int>(row % height),
          static_cast<int>(number % width)};
}

// The coordinates of a thread's pixel. Adjacent threads have adjacent memory:
//
//   plain          number = (plane · height + row) · width + column
//   channels last  number = ((sample · height + row) · width + column) · step + channel, by kAtOnce channels (vector.h)
struct Pixel {
  int64_t outer;    // plane, or sample
  int64_t channel;  // 0 if planes are contiguous
  int row, column;

  // The offset of the plane in a tensor with planes of height · width. Its pixel (r, c) is (r · width + c) · step
  // further on.
  __device__ int64_t plane(int64_t step, int64_t height, int64_t width) const {
    return outer * height * width * step + channel;
  }
};

template <int kAtOnce>
__device__ Pixel pixel_of(int64_t number, int64_t step, int height, int width) {
  step /= kAtOnce;
  if (number <= 0x7FFFFFFF) {
    const uint32_t all = static_cast<uint32_t>(number), n = step == 1 ? all : all / static_cast<uint32_t>(step);
    const uint32_t row = n / static_cast<uint32_t>(width);
    return {row / static_cast<uint32_t>(height), int64_t{kAtOnce} * (all - n * static_cast<uint32_t>(step)),
            static_cast<int>(row % static_cast<uint32_t>(height)), static_cast<int>(n % static_cast<uint32_t>(width))};
  }
  const int64_t n = number / step, row = n / width;
  return {row / height, kAtOnce * (number - n * step), static_cast<int>(row % height), static_cast<int>(n % width)};
}

}  // namespace plimsoll::cuda
