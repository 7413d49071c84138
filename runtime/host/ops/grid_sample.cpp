// GridSampleForward {x, grid, y}   GridSampleBackward {grid, dy, dx}   GridSampleBackwardGrid {x, grid, dy, dgrid}
// Images are volumes of depth 1. A position reads one, two or four pixels along each axis (nearest, linear, cubic).
// With cubic, as in PyTorch, the padding applies to each of these pixels; otherwise it applies to the position. A
// thread processes some positions of a sample and reads all channels there. The gradient with respect to the image
// scatters, so a thread processes some channels of a sample and all positions, in order.
#include "runtime/attrs/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kPlacesAtOnce = 32, kChannelsAtOnce = 8;

// A position along one axis, in pixels, and its derivative with respect to the grid's value. Computed as in PyTorch.
struct AxisPlace {
  float at, slope;
};

AxisPlace mirrored(float at, float slope, float low, float span) {
  if (span <= 0) return {0, 0};
  float beyond = at - low;
  if (beyond < 0) beyond = -beyond, slope = -slope;
  const float rest = std::fmod(beyond, span);
  const bool even = std::fmod(std::floor(beyond / span), 2.0F) == 0;
  return even ? AxisPlace{rest + low, slope} : AxisPlace{span - rest + low, -slope};
}

AxisPlace axis_place(const GridSampleAttrs& a, float given, int64_t pixels) {
  const float size = static_cast<float>(pixels), last = size - 1;
  AxisPlace place =
      a.align_corners ? AxisPlace{(given + 1) / 2 * last, last / 2} : AxisPlace{((given + 1) * size - 1) / 2, size / 2};
  if (a.cubic) {
    // Farther away, all four pixels are those of the edge.
    if (a.padding == GridSampleAttrs::kBorder && !std::isnan(place.at))
      place.at = std::clamp(place.at, -4.0F, last + 4);
  } else if (a.padding == GridSampleAttrs::kReflection) {
    place = a.align_corners ? mirrored(place.at, place.slope, 0, last) : mirrored(place.at, place.slope, -0.5F, size);
  }
  if (a.padding != GridSampleAttrs::kZeros && !a.cubic) {
    if (!(place.at > 0)) place = {0, 0};
    else if (place.at >= last) place = {last, 0};
  }
  // Positions too far away count as outside. NaN produces NaN: it is not lost here.
  if (std::isnan(place.at) && !a.nearest) return place;
  return std::abs(place.at) < 0x1p30F ? place : AxisPlace{-100, 0};
}

// The pixels along one axis that a position reads, each with its weight and the derivative of the weight; -1: outside.
struct AxisTaps {
  std::array<int64_t, 4> pixel;
  std::array<float, 4> share, slope;
};

// The pixel that the padding puts at `at`, or -1.
int64_t padded_pixel(const GridSampleAttrs& a, int64_t at, int64_t pixels) {
  if (a.padding == GridSampleAttrs::kZeros) return at >= 0 && at < pixels ? at : -1;
  if (a.padding == GridSampleAttrs::kReflection) {
    const float size = static_cast<float>(pixels), given = static_cast<float>(at);
    at = static_cast<int64_t>((a.align_corners ? mirrored(given, 1, 0, size - 1) : mirrored(given, 1, -0.5F, size)).at);
  }
  return std::clamp<int64_t>(at, 0, pixels - 1);
}

AxisTaps cubic_taps(const GridSampleAttrs& a, const AxisPlace& place, int64_t pixels) {
  constexpr float k = kGridCubic;
  const float low = std::isnan(place.at) ? 0 : std::floor(place.at), t = place.at - low;
  const auto near = [](float d) { return ((k + 2) * d - (k + 3)) * d * d + 1; };       // of a distance up to 1
  const auto far = [](float d) { return ((k * d - 5 * k) * d + 8 * k) * d - 4 * k; };  // of one from 1 to 2
  const auto near_slope = [](float d) { return (3 * (k + 2) * d - 2 * (k + 3)) * d; };
  const auto far_slope = [](float d) { return (3 * k * d - 10 * k) * d + 8 * k; };
  AxisTaps taps{.pixel = {},
                .share = {far(t + 1), near(t), near(1 - t), far(2 - t)},
                .slope = {far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)}};
  for (size_t i = 0; i < 4; ++i) {
    taps.pixel[i] = padded_pixel(a, static_cast<int64_t>(low) - 1 + static_cast<int64_t>(i), pixels);
    taps.slope[i] *= place.slope;
  }
  return taps;
}

AxisTaps taps_of(const GridSampleAttrs& a, float given, int64_t pixels) {
  const AxisPlace place = axis_place(a, given, pixels);
  if (a.cubic) return cubic_taps(a, place, pixels);
  const float low = a.nearest ? std::nearbyint(place.at) : std::isnan(place.at) ? 0 : std::floor(place.at);
  const auto inside = [&](int64_t at) { return at >= 0 && at < pixels ? at : -1; };
  const int64_t first = static_cast<int64_t>(low);
  if (a.nearest) return {.pixel = {inside(first)}, .share = {1}, .slope = {0}};
  return {.pixel = {inside(first), inside(first + 1)},
          .share = {low + 1 - place.at, place.at - low},
          .slope = {-place.slope, place.slope}};
}

constexpr size_t kMostTaps = 16;

// The pixels around a position, each with its weight and the derivative of the weight along each axis; -1: outside.
struct Around {
  std::array<int64_t, kMostTaps> pixel;
  std::array<float, kMostTaps> share;
  std::array<std::array<float, 3>, kMostTaps> slope;  // along the grid's last dimension: width, height, depth
};

struct GridShape {
  GridSampleAttrs attrs;
  int64_t samples, channels, places, pixels = 1;
  int64_t axes;                             // 2 or 3
  std::array<int64_t, 3> size = {1, 1, 1};  // width, height, depth

  GridShape(const GridSampleAttrs& a, const TensorDesc& x, const TensorDesc& grid)
      : attrs(a), samples(x.dim(0)), channels(x.dim(1)), places(1), axes(static_cast<int64_t>(x.rank()) - 2) {
    for (size_t i = 1; i + 1 < grid.rank(); ++i) places *= grid.dim(i);
    for (size_t i = 2; i < x.rank(); ++i) size[x.rank() - 1 - i] = x.dim(i), pixels *= x.dim(i);
  }
  size_t log_taps() const { return attrs.nearest ? 0 : attrs.cubic ? 2 : 1; }  // of the pixels along one axis
  size_t corners() const { return size_t{1} << (log_taps() * static_cast<size_t>(axes)); }
  int64_t stretches() const { return (places + kPlacesAtOnce - 1) / kPlacesAtOnce; }

  Around around(const float* grid) const {
    std::array<AxisTaps, 3> taps;
    for (size_t i = 0; i < static_cast<size_t>(axes); ++i) taps[i] = taps_of(attrs, grid[i], size[i]);
    const size_t bits = log_taps(), mask = (size_t{1} << bits) - 1;
    Around result;
    for (size_t corner = 0; corner < corners(); ++corner) {
      int64_t pixel = 0, step = 1;
      bool inside = true;
      result.share[corner] = 1;
      result.slope[corner] = {1, 1, 1};
      for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
        const size_t tap = corner >> (i * bits) & mask;
        inside = inside && taps[i].pixel[tap] >= 0;
        pixel += taps[i].pixel[tap] * step;
        step *= size[i];
        result.share[corner] *= taps[i].share[tap];
        for (size_t j = 0; j < 3; ++j) result.slope[corner][j] *= j == i ? taps[i].slope[tap] : taps[i].share[tap];
      }
      result.pixel[corner] = inside ? pixel : -1;
    }
    return result;
  }
};

void sample_grid(const GridShape& shape, const float* x, const float* grid, float* y) {
  const size_t corners = shape.corners();
#pragma omp parallel for schedule(static)
  for (int64_t task = 0; task < shape.samples * shape.stretches(); ++task) {
    const int64_t sample = task / shape.stretches(), first = task % shape.stretches() * kPlacesAtOnce;
    const int64_t count = std::min(kPlacesAtOnce, shape.places - first);
    std::array<Around, kPlacesAtOnce> all;
    for (int64_t i = 0; i < count; ++i)
      all[static_cast<size_t>(i)] = shape.around(grid + (sample * shape.places + first + i) * shape.axes);
    for (int64_t c = sample * shape.channels; c < (sample + 1) * shape.channels; ++c) {
      const float* from = x + c * shape.pixels;
      float* to = y + c * shape.places + first;
      for (int64_t i = 0; i < count; ++i) {
        const Around& around = all[static_cast<size_t>(i)];
        float sum = 0;
        for (size_t k = 0; k < corners; ++k)
          if (around.pixel[k] >= 0) sum += from[around.pixel[k]] * around.share[k];
        to[i] = sum;
      }
    }
  }
}

void picture_gradient(const GridShape& shape, bool adds, const float* grid, const float* dy, float* dx) {
  const size_t corners = shape.corners();
  const int64_t stretches = (shape.channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
#pragma omp parallel for schedule(static)
  for (int64_t task = 0; task < shape.samples * stretches; ++task) {
    const int64_t sample = task / stretches, first = sample * shape.channels + task % stretches * kChannelsAtOnce;
    const int64_t end = std::min(first + kChannelsAtOnce, (sample + 1) * shape.channels);
    if (!adds) std::fill_n(dx + first * shape.pixels, (end - first) * shape.pixels, 0.0F);
    for (int64_t i = 0; i < shape.places; ++i) {
      const Around around = shape.around(grid + (sample * shape.places + i) * shape.axes);
      for (int64_t c = first; c < end; ++c) {
        const float slope = dy[c * shape.places + i];
        for (size_t k = 0; k < corners; ++k)
          if (around.pixel[k] >= 0) dx[c * shape.pixels + around.pixel[k]] += slope * around.share[k];
      }
    }
  }
}

void grid_gradient(const GridShape& shape, bool adds, const float* x, const float* grid, const float* dy,
                   float* dgrid) {
  const size_t corners = shape.corners(), axes = static_cast<size_t>(shape.axes);
#pragma omp parallel for schedule(static)
  for (int64_t task = 0; task < shape.samples * shape.places; ++task) {
    const int64_t sample = task / shape.places, i = task % shape.places;
    const Around around = shape.around(grid + task * shape.axes);
    std::array<float, kMostTaps> of_corner = {};
    for (int64_t c = sample * shape.channels; c < (sample + 1) * shape.channels; ++c)
      for (size_t k = 0; k < corners; ++k)
        if (around.pixel[k] >= 0) of_corner[k] += x[c * shape.pixels + around.pixel[k]] * dy[c * shape.places + i];
    for (size_t axis = 0; axis < axes; ++axis) {
      float sum = 0;
      for (size_t k = 0; k < corners; ++k) sum += of_corner[k] * around.slope[k][axis];
      float& to = dgrid[task * shape.axes + static_cast<int64_t>(axis)];
      to = adds ? to + sum : sum;
    }
  }
}

}  // namespace

std::vector<Algorithm> GridSampleForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GridSampleForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  return host::flat_kernel(
      [shape = GridShape(attrs, operands[0].tensor, operands[1].tensor)](const RunContext&, std::byte* const* operand) {
        sample_grid(shape, host::in(operand, 0), host::in(operand, 1), host::out(operand, 2));
      });
}

std::vector<Algorithm> GridSampleBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GridSampleBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  const bool adds = operands[2].access == Access::update;
  return host::flat_kernel([adds, shape = GridShape(attrs, operands[2].tensor, operands[0].tensor)](
                               const RunContext&, std::byte* const* operand) {
    picture_gradient(shape, adds, host::in(operand, 0), host::in(operand, 1), host::out(operand, 2));
  });
}

std::vector<Algorithm> GridSampleBackwardGrid::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GridSampleBackwardGrid::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                     std::string_view) {
  const bool adds = operands[3].access == Access::update;
  return host::flat_kernel([adds, shape = GridShape(attrs, operands[0].tensor, operands[1].tensor)](
                               const RunContext&, std::byte* const* operand) {
    grid_gradient(shape, adds, host::in(operand, 0), host::in(operand, 1), host::in(operand, 2), host::out(operand, 3));
  });
}

}  // namespace plimsoll
