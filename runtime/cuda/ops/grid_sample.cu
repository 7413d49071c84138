// GridSampleForward {x, grid, y}   GridSampleBackward {grid, dy, dx}   GridSampleBackwardGrid {x, grid, dy, dgrid}
// Positions as in runtime/host/ops/grid_sample.cpp. A thread computes one element of y, or the whole gradient of one
// position. The gradient with respect to the image scatters, so a thread owns a stretch of one channel's pixels and
// processes all positions in order: no atomics, the same bits every time, whatever the number of stretches.
#include "runtime/attrs/grid_sample.h"

#include <algorithm>
#include <type_traits>

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

// The pixels along one axis that a position reads; -1: outside.
struct AxisTaps {
  int64_t pixel[4];
  float share[4], slope[4];
};

// Of at most kTaps pixels: 8, or 16 for cubic.
template <int kTaps>
struct Around {
  int64_t pixel[kTaps];  // -1: outside
  float share[kTaps];
  float slope[kTaps][3];
};

struct GridShape {
  bool nearest, cubic, align_corners;
  int64_t padding, samples, channels, places = 1, pixels = 1;
  int axes;
  int64_t size[3] = {1, 1, 1};  // width, height, depth

  GridShape(const GridSampleAttrs& a, const TensorDesc& x, const TensorDesc& grid)
      : nearest(a.nearest),
        cubic(a.cubic),
        align_corners(a.align_corners),
        padding(a.padding),
        samples(x.dim(0)),
        channels(x.dim(1)),
        axes(static_cast<int>(x.rank()) - 2) {
    for (size_t i = 1; i + 1 < grid.rank(); ++i) places *= grid.dim(i);
    for (size_t i = 2; i < x.rank(); ++i) size[x.rank() - 1 - i] = x.dim(i), pixels *= x.dim(i);
  }
  // Of the pixels along one axis.
  __device__ int log_taps() const { return nearest ? 0 : cubic ? 2 : 1; }
  __device__ int corners() const { return 1 << (log_taps() * axes); }

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
    if (cubic) {
      // Farther away, all four pixels are those of the edge.
      if (padding == GridSampleAttrs::kBorder && place.at == place.at)
        place.at = fminf(fmaxf(place.at, -4.0F), last + 4);
    } else if (padding == GridSampleAttrs::kReflection) {
      place = align_corners ? mirrored(place.at, place.slope, 0, last) : mirrored(place.at, place.slope, -0.5F, all);
    }
    if (padding != GridSampleAttrs::kZeros && !cubic) {
      if (!(place.at > 0)) place = {0, 0};
      else if (place.at >= last) place = {last, 0};
    }
    if (place.at != place.at && !nearest) return place;
    return fabsf(place.at) < 0x1p30F ? place : AxisPlace{-100, 0};
  }

  __device__ int64_t padded_pixel(int64_t at, int64_t along) const {
    if (padding == GridSampleAttrs::kZeros) return at >= 0 && at < along ? at : -1;
    if (padding == GridSampleAttrs::kReflection) {
      const float all = static_cast<float>(along), given = static_cast<float>(at);
      at = static_cast<int64_t>((align_corners ? mirrored(given, 1, 0, all - 1) : mirrored(given, 1, -0.5F, all)).at);
    }
    return at < 0 ? 0 : at >= along ? along - 1 : at;
  }

  __device__ AxisTaps cubic_taps(const AxisPlace& place, int64_t along) const {
    constexpr float k = kGridCubic;
    const float low = place.at != place.at ? 0.0F : floorf(place.at), t = place.at - low;
    const auto near = [](float d) { return ((k + 2) * d - (k + 3)) * d * d + 1; };       // of a distance up to 1
    const auto far = [](float d) { return ((k * d - 5 * k) * d + 8 * k) * d - 4 * k; };  // of one from 1 to 2
    const auto near_slope = [](float d) { return (3 * (k + 2) * d - 2 * (k + 3)) * d; };
    const auto far_slope = [](float d) { return (3 * k * d - 10 * k) * d + 8 * k; };
    AxisTaps taps{{},
                  {far(t + 1), near(t), near(1 - t), far(2 - t)},
                  {far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)}};
    for (int i = 0; i < 4; ++i) {
      taps.pixel[i] = padded_pixel(static_cast<int64_t>(low) - 1 + i, along);
      taps.slope[i] *= place.slope;
    }
    return taps;
  }

  __device__ AxisTaps taps_of(float given, int64_t along) const {
    const AxisPlace place = axis_place(given, along);
    if (cubic) return cubic_taps(place, along);
    const float low = nearest ? rintf(place.at) : place.at != place.at ? 0.0F : floorf(place.at);
    const int64_t first = static_cast<int64_t>(low), second = first + 1;
    const int64_t one = first >= 0 && first < along ? first : -1, other = second >= 0 && second < along ? second : -1;
    if (nearest) return {{one, -1, -1, -1}, {1, 0, 0, 0}, {0, 0, 0, 0}};
    return {{one, other, -1, -1}, {low + 1 - place.at, place.at - low, 0, 0}, {-place.slope, place.slope, 0, 0}};
  }

  template <int kTaps>
  __device__ Around<kTaps> around(const float* grid) const {
    AxisTaps taps[3];
    for (int i = 0; i < axes; ++i) taps[i] = taps_of(grid[i], size[i]);
    const int bits = log_taps(), mask = (1 << bits) - 1;
    Around<kTaps> result;
    for (int corner = 0; corner < corners(); ++corner) {
      int64_t pixel = 0, step = 1;
      bool inside = true;
      float all = 1, slopes[3] = {1, 1, 1};
      for (int i = 0; i < axes; ++i) {
        const int tap = corner >> (i * bits) & mask;
        inside = inside && taps[i].pixel[tap] >= 0;
        pixel += taps[i].pixel[tap] * step;
        step *= size[i];
        all *= taps[i].share[tap];
        for (int j = 0; j < 3; ++j) slopes[j] *= j == i ? taps[i].slope[tap] : taps[i].share[tap];
      }
      result.pixel[corner] = inside ? pixel : -1;
      result.share[corner] = all;
      for (int j = 0; j < 3; ++j) result.slope[corner][j] = slopes[j];
    }
    return result;
  }
};

template <int kTaps>
__global__ void grid_sample_kernel(GridShape shape, const float* x, const float* grid, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.samples * shape.channels * shape.places) return;
  const int64_t plane = number / shape.places, place = number % shape.places, sample = plane / shape.channels;
  const Around<kTaps> around = shape.around<kTaps>(grid + (sample * shape.places + place) * shape.axes);
  const float* const from = x + plane * shape.pixels;
  float sum = 0;
  for (int k = 0; k < shape.corners(); ++k)
    if (around.pixel[k] >= 0) sum += from[around.pixel[k]] * around.share[k];
  y[number] = sum;
}

template <int kTaps, bool kAdd>
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
    const Around<kTaps> around = shape.around<kTaps>(grid + (sample * shape.places + place) * shape.axes);
    const float slope = dy[plane * shape.places + place];
    for (int k = 0; k < shape.corners(); ++k)
      if (around.pixel[k] >= first && around.pixel[k] < end) to[around.pixel[k]] += slope * around.share[k];
  }
}

template <int kTaps, bool kAdd>
__global__ void grid_gradient_kernel(GridShape shape, const float* x, const float* grid, const float* dy,
                                     float* dgrid) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.samples * shape.places) return;
  const int64_t sample = number / shape.places, place = number % shape.places;
  const Around<kTaps> around = shape.around<kTaps>(grid + number * shape.axes);
  float of_corner[kTaps];
  for (int k = 0; k < kTaps; ++k) of_corner[k] = 0;
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

// `make` is called with the largest number of pixels that a position reads.
template <class Make>
std::unique_ptr<Kernel> by_taps(const GridSampleAttrs& attrs, Make make) {
  if (attrs.cubic) return make(std::integral_constant<int, 16>());
  return make(std::integral_constant<int, 8>());
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GridSampleForward, {
  cuda::need_plain(operands);
  const GridShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return by_taps(attrs, [&](auto taps) -> std::unique_ptr<Kernel> {
    return cuda::kernel(
        [shape, n = operands[2].tensor.elements()](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("grid sample", grid_sample_kernel<decltype(taps)::value>, cuda::blocks_for(n), cuda::kThreads,
                   context, shape, cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(GridSampleBackward, {
  cuda::need_plain(operands);
  const GridShape shape(attrs, operands[2].tensor, operands[0].tensor);
  const int64_t planes = shape.samples * shape.channels;
  const int64_t wanted = std::clamp<int64_t>(kGridThreads / planes, 1, shape.pixels);
  const int64_t stretch = (shape.pixels + wanted - 1) / wanted;
  const int64_t stretches = (shape.pixels + stretch - 1) / stretch;
  return by_taps(attrs, [&](auto taps) -> std::unique_ptr<Kernel> {
    return cuda::by_flag(cuda::adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("grid sample's gradient", picture_gradient_kernel<decltype(taps)::value, decltype(add)::value>,
                     cuda::blocks_for(planes * stretches), cuda::kThreads, context, shape, stretches, stretch,
                     cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
      });
    });
  });
})

PLIMSOLL_CUDA_KERNEL(GridSampleBackwardGrid, {
  cuda::need_plain(operands);
  const GridShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return by_taps(attrs, [&](auto taps) -> std::unique_ptr<Kernel> {
    return cuda::by_flag(cuda::adds(operands[3]), [&](auto add) -> std::unique_ptr<Kernel> {
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("grid's gradient", grid_gradient_kernel<decltype(taps)::value, decltype(add)::value>,
                     cuda::blocks_for(shape.samples * shape.places), cuda::kThreads, context, shape,
                     cuda::in(operand, 0), cuda::in(operand, 1), cuda::in(operand, 2), cuda::out(operand, 3));
      });
    });
  });
})

}  // namespace plimsoll
