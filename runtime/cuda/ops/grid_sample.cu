// GridSampleForward {x, grid, y}   GridSampleBackward {grid, dy, dx}   GridSampleBackwardGrid {x, grid, dy, dgrid}
// Positions as in runtime/host/ops/grid_sample.cpp. A thread computes one element of y, or the whole gradient of one
// position. The gradient with respect to the image scatters, so a thread owns a stretch of one channel's pixels and
// processes all positions in order: no atomics, the same bits every time, whatever the number of stretches.
#include "runtime/attrs/grid_sample.h"

#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kGridThreads = int64_t{1} << 15;  // threads of the backward, if there are enough pixels

struct AxisPlace {
  float at, slope;
};

struct Around {
  int64_t pixel[8];  // -1: outside
  float share[8];
  float slope[8][3];
};

struct GridShape {
  bool nearest, align_corners;
  int64_t padding, samples, channels, places = 1, pixels = 1;
  int axes;
  int64_t size[3] = {1, 1, 1};  // width, height, depth

  GridShape(const GridSampleAttrs& a, const TensorDesc& x, const TensorDesc& grid)
      : nearest(a.nearest),
        align_corners(a.align_corners),
        padding(a.padding),
        samples(x.dim(0)),
        channels(x.dim(1)),
        axes(static_cast<int>(x.rank()) - 2) {
    for (size_t i = 1; i + 1 < grid.rank(); ++i) places *= grid.dim(i);
    for (size_t i = 2; i < x.rank(); ++i) size[x.rank() - 1 - i] = x.dim(i), pixels *= x.dim(i);
  }
  __host__ __device__ int corners() const { return nearest ? 1 : 1 << axes; }

  __device__ static AxisPlace mirrored(float at, float slope, float low, float span) {
    if (span <= 0) return {0, 0};
    float beyond = at - low;
    if (beyond < 0) beyond = -beyond, slope = -slope;
    const float rest = fmodf(beyond, span);
    const bool even = fmodf(floorf(beyond / span), 2.0F) == 0;
    return even ? AxisPlace{rest + low, slope} : AxisPlace{span - rest + low, -slope};
  }

  __device__ AxisPlace axis_place(float given, int64_t along) const {
    const float all = static_cast<float>(along), last = all - 1;
    AxisPlace place =
        align_corners ? AxisPlace{(given + 1) / 2 * last, last / 2} : AxisPlace{((given + 1) * all - 1) / 2, all / 2};
    if (padding == GridSampleAttrs::kReflection)
      place = align_corners ? mirrored(place.at, place.slope, 0, last) : mirrored(place.at, place.slope, -0.5F, all);
    if (padding != GridSampleAttrs::kZeros) {
      if (!(place.at > 0)) place = {0, 0};
      else if (place.at >= last) place = {last, 0};
    }
    if (place.at != place.at && !nearest) return place;
    return fabsf(place.at) < 0x1p30F ? place : AxisPlace{-100, 0};
  }

  __device__ Around around(const float* grid) const {
    AxisPlace place[3];
    float low[3];
    for (int i = 0; i < axes; ++i) {
      place[i] = axis_place(grid[i], size[i]);
      low[i] = nearest ? rintf(place[i].at) : place[i].at != place[i].at ? 0.0F : floorf(place[i].at);
    }
    Around result;
    for (int corner = 0; corner < corners(); ++corner) {
      int64_t pixel = 0, step = 1;
      bool inside = true;
      float all = 1, slopes[3] = {1, 1, 1};
      for (int i = 0; i < axes; ++i) {
        const bool high = (corner >> i & 1) != 0;
        const int64_t at = static_cast<int64_t>(low[i]) + (high ? 1 : 0);
        const float share = nearest ? 1 : high ? place[i].at - low[i] : low[i] + 1 - place[i].at;
        const float slope = nearest ? 0 : high ? place[i].slope : -place[i].slope;
        inside = inside && at >= 0 && at < size[i];
        pixel += at * step;
        step *= size[i];
        all *= share;
        for (int j = 0; j < 3; ++j) slopes[j] *= j == i ? slope : share;
      }
      result.pixel[corner] = inside ? pixel : -1;
      result.share[corner] = all;
      for (int j = 0; j < 3; ++j) result.slope[corner][j] = slopes[j];
    }
    return result;
  }
};

__global__ void grid_sample_kernel(GridShape shape, const float* x, const float* grid, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.samples * shape.channels * shape.places) return;
  const int64_t plane = number / shape.places, place = number % shape.places, sample = plane / shape.channels;
  const Around around = shape.around(grid + (sample * shape.places + place) * shape.axes);
  const float* const from = x + plane * shape.pixels;
  float sum = 0;
  for (int k = 0; k < shape.corners(); ++k)
    if (around.pixel[k] >= 0) sum += from[around.pixel[k]] * around.share[k];
  y[number] = sum;
}

template <bool kAdd>
__global__ void picture_gradient_kernel(GridShape shape, int64_t stretches, int64_t stretch, const float* grid,
                                        const float* dy, float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.samples * shape.channels * stretches) return;
  // Adjacent threads have different channels of one stretch: they read the same positions.
  const int64_t channel = number % shape.channels, sample = number / shape.channels / stretches;
  const int64_t first = number / shape.channels % stretches * stretch;
  const int64_t end = first + stretch < shape.pixels ? first + stretch : shape.pixels,
                plane = sample * shape.channels + channel;
  float* const to = dx + plane * shape.pixels;
  if constexpr (!kAdd)
    for (int64_t i = first; i < end; ++i) to[i] = 0;
  for (int64_t place = 0; place < shape.places; ++place) {
    const Around around = shape.around(grid + (sample * shape.places + place) * shape.axes);
    const float slope = dy[plane * shape.places + place];
    for (int k = 0; k < shape.corners(); ++k)
      if (around.pixel[k] >= first && around.pixel[k] < end) to[around.pixel[k]] += slope * around.share[k];
  }
}

template <bool kAdd>
__global__ void grid_gradient_kernel(GridShape shape, const float* x, const float* grid, const float* dy,
                                     float* dgrid) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.samples * shape.places) return;
  const int64_t sample = number / shape.places, place = number % shape.places;
  const Around around = shape.around(grid + number * shape.axes);
  float of_corner[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int64_t c = sample * shape.channels; c < (sample + 1) * shape.channels; ++c) {
    const float slope = dy[c * shape.places + place];
    for (int k = 0; k < shape.corners(); ++k)
      if (around.pixel[k] >= 0) of_corner[k] += x[c * shape.pixels + around.pixel[k]] * slope;
  }
  for (int axis = 0; axis < shape.axes; ++axis) {
    float sum = 0;
    for (int k = 0; k < shape.corners(); ++k) sum += of_corner[k] * around.slope[k][axis];
    float& to = dgrid[number * shape.axes + axis];
    to = kAdd ? to + sum : sum;
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GridSampleForward, {
  cuda::need_plain(operands);
  const GridShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::kernel(
      [shape, n = operands[2].tensor.elements()](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("grid sample", grid_sample_kernel, cuda::blocks_for(n), cuda::kThreads, context, shape,
                     cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
      });
})

PLIMSOLL_CUDA_KERNEL(GridSampleBackward, {
  cuda::need_plain(operands);
  const GridShape shape(attrs, operands[2].tensor, operands[0].tensor);
  const int64_t planes = shape.samples * shape.channels;
  const int64_t wanted = std::clamp<int64_t>(kGridThreads / planes, 1, shape.pixels);
  const int64_t stretch = (shape.pixels + wanted - 1) / wanted;
  const int64_t stretches = (shape.pixels + stretch - 1) / stretch;
  return cuda::by_flag(cuda::adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("grid sample's gradient", picture_gradient_kernel<decltype(add)::value>,
                   cuda::blocks_for(planes * stretches), cuda::kThreads, context, shape, stretches, stretch,
                   cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(GridSampleBackwardGrid, {
  cuda::need_plain(operands);
  const GridShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::by_flag(cuda::adds(operands[3]), [&](auto add) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("grid's gradient", grid_gradient_kernel<decltype(add)::value>,
                   cuda::blocks_for(shape.samples * shape.places), cuda::kThreads, context, shape, cuda::in(operand, 0),
                   cuda::in(operand, 1), cuda::in(operand, 2), cuda::out(operand, 3));
    });
  });
})

}  // namespace plimsoll
