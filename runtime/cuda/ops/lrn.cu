// LrnForward {x, y}   LrnBackward {x, dy, dx}
//
// A thread processes the channels of a pixel, or of four, which are a plane apart; adjacent threads read adjacent
// pixels. With channels last, it has one pixel and reads along memory, and finds the rest of each cache line in the
// cache later. Every element is read once, ahead of what is written, because the results may overwrite the operands:
//
//   channel  c-before … c … c+after      the values in a window: in registers for common window lengths
#include "runtime/attrs/lrn.h"

#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Geometry {
  cuda::PlaneShape shape;
  int64_t step;             // from one channel to the next
  int before, after, size;  // neighbours of a channel within its window, if there are that many; the whole window
  float alpha, beta, bias;  // alpha divided by size

  Geometry(const LrnAttrs& attrs, const TensorDesc& x)
      : shape(x),
        step(shape.channels_last ? 1 : shape.pixels),
        before(static_cast<int>(std::min((attrs.size - 1) / 2, shape.channels))),
        after(static_cast<int>(std::min(attrs.size / 2, shape.channels))),
        size(before + 1 + after),
        alpha(static_cast<float>(attrs.alpha / static_cast<double>(attrs.size))),
        beta(static_cast<float>(attrs.beta)),
        bias(static_cast<float>(attrs.bias)) {}

  // Windows of other lengths are kept in the workspace.
  bool in_registers() const { return size == 3 || size == 5 || size == 7 || size == 9; }
  // Pixels per thread; for longer windows, four would need more registers than two blocks of a multiprocessor have.
  int64_t at_once() const {
    return in_registers() && size <= 5 && !shape.channels_last && shape.pixels % 4 == 0 ? 4 : 1;
  }
  int64_t workspace_bytes(int64_t values) const {
    return in_registers() ? 0 : values * pixels() * static_cast<int64_t>(sizeof(float));
  }
  __host__ __device__ int64_t pixels() const { return shape.samples * shape.pixels; }
  // The offset of a pixel in channel 0.
  __device__ int64_t start(int64_t pixel) const {
    if (shape.channels_last) return pixel * shape.channels;
    return pixel / shape.pixels * shape.channels * shape.pixels + pixel % shape.pixels;
  }
  // scale^-beta; for AlexNet's beta without a logarithm.
  __device__ float power(float scale) const {
    return beta == 0.75F ? 1.0F / (sqrtf(scale) * sqrtf(sqrtf(scale))) : powf(scale, -beta);
  }
};

// The last values of a sequence, the oldest first: in registers, because all indices are known at compile time.
template <int kAtOnce, int kLength>
struct Sliding {
  cuda::Few<kAtOnce> of[kLength] = {};

  __device__ const cuda::Few<kAtOnce>& operator[](int i) const { return of[i]; }
  __device__ void push(const cuda::Few<kAtOnce>& newest) {
#pragma unroll
    for (int i = 0; i + 1 < kLength; ++i) of[i] = of[i + 1];
    of[kLength - 1] = newest;
  }
};

// The same in a ring buffer in the workspace, in which the values of adjacent threads are adjacent.
struct SlidingFar {
  float* first;
  int64_t threads;
  int length, oldest = 0;

  __device__ SlidingFar(float* ring, int64_t thread, int64_t all, int values)
      : first(ring + thread), threads(all), length(values) {
    for (int i = 0; i < length; ++i) first[i * threads] = 0;
  }
  __device__ cuda::Few<1> operator[](int i) const { return {{first[(oldest + i) % length * threads]}}; }
  __device__ void push(const cuda::Few<1>& newest) {
    first[oldest * threads] = newest.of[0];
    oldest = (oldest + 1) % length;
  }
};

// Windows of kSize channels, or of Geometry::size if kSize is 0.
template <int kSize>
struct LrnWindow {
  static __device__ int before(const Geometry& g) { return kSize > 0 ? (kSize - 1) / 2 : g.before; }
  static __device__ int after(const Geometry& g) { return kSize > 0 ? kSize / 2 : g.after; }
  static __device__ int size(const Geometry& g) { return kSize > 0 ? kSize : g.size; }
};

// A sliding window of `length` values; in the workspace, `ahead` values per pixel precede it.
template <int kAtOnce, int kLength>
__device__ auto sliding(const Geometry& g, float* workspace, int64_t thread, int ahead, int length) {
  if constexpr (kLength > 0) return Sliding<kAtOnce, kLength>{};
  else return SlidingFar(workspace + ahead * g.pixels(), thread, g.pixels(), length);
}

template <int kAtOnce>
__device__ cuda::Few<kAtOnce> lrn_channel(const Geometry& g, const float* from, int64_t c) {
  return c < g.shape.channels ? cuda::load_few<kAtOnce>(from + c * g.step) : cuda::Few<kAtOnce>{};
}

// For the channel in the middle of the window.
template <int kAtOnce, int kSize, class X>
__device__ cuda::Few<kAtOnce> lrn_scale(const Geometry& g, const X& x) {
  cuda::Few<kAtOnce> scale{};
#pragma unroll
  for (int i = 0; i < LrnWindow<kSize>::size(g); ++i)
    for (int k = 0; k < kAtOnce; ++k) scale.of[k] += x[i].of[k] * x[i].of[k];
  for (int k = 0; k < kAtOnce; ++k) scale.of[k] = g.bias + g.alpha * scale.of[k];
  return scale;
}

template <int kAtOnce, int kSize>
__global__ void lrn_kernel(Geometry g, const float* from, float* to, float* workspace) {
  const int64_t number = cuda::thread_number();
  if (number >= g.pixels() / kAtOnce) return;
  const int before = LrnWindow<kSize>::before(g), after = LrnWindow<kSize>::after(g);
  from += g.start(kAtOnce * number);
  to += g.start(kAtOnce * number);
  auto x = sliding<kAtOnce, kSize>(g, workspace, number, 0, LrnWindow<kSize>::size(g));
  for (int c = 0; c < after; ++c) x.push(lrn_channel<kAtOnce>(g, from, c));
  for (int64_t c = 0; c < g.shape.channels; ++c) {
    x.push(lrn_channel<kAtOnce>(g, from, c + after));
    auto y = lrn_scale<kAtOnce, kSize>(g, x);
    for (int k = 0; k < kAtOnce; ++k) y.of[k] = x[before].of[k] * g.power(y.of[k]);
    cuda::store_few(to + c * g.step, y);
  }
}

// With s the scale and t = s^-beta:  dx_c = dy_c t_c - 2 alpha beta x_c * sum of dy_j x_j t_j / s_j over the windows j
// that contain c; these extend in the opposite direction: j is ahead of c.
template <int kAtOnce, int kSize>
__global__ void lrn_backward_kernel(Geometry g, const float* from, const float* slope, float* to, float* workspace) {
  const int64_t number = cuda::thread_number();
  if (number >= g.pixels() / kAtOnce) return;
  const int before = LrnWindow<kSize>::before(g), after = LrnWindow<kSize>::after(g), size = LrnWindow<kSize>::size(g);
  constexpr int kFromC = kSize > 0 ? (kSize - 1) / 2 + 1 : 0;  // channels c … j
  from += g.start(kAtOnce * number);
  slope += g.start(kAtOnce * number);
  to += g.start(kAtOnce * number);
  auto x = sliding<kAtOnce, kSize>(g, workspace, number, 0, size);
  auto shares = sliding<kAtOnce, kSize>(g, workspace, number, size, size);
  auto slopes = sliding<kAtOnce, kFromC>(g, workspace, number, 2 * size, before + 1);
  auto powers = sliding<kAtOnce, kFromC>(g, workspace, number, 2 * size + before + 1, before + 1);
  for (int j = 0; j < after; ++j) x.push(lrn_channel<kAtOnce>(g, from, j));
  for (int64_t j = 0; j < g.shape.channels + before; ++j) {
    x.push(lrn_channel<kAtOnce>(g, from, j + after));
    const auto dy = lrn_channel<kAtOnce>(g, slope, j);
    const auto s = lrn_scale<kAtOnce, kSize>(g, x);
    cuda::Few<kAtOnce> t{}, share{};
    for (int k = 0; k < kAtOnce && j < g.shape.channels; ++k) {
      t.of[k] = g.power(s.of[k]);
      share.of[k] = dy.of[k] * x[before].of[k] * t.of[k] / s.of[k];
    }
    slopes.push(dy);
    powers.push(t);
    shares.push(share);
    const int64_t c = j - before;
    if (c < 0) continue;
    cuda::Few<kAtOnce> dx{};
#pragma unroll
    for (int i = 0; i < size; ++i)
      for (int k = 0; k < kAtOnce; ++k) dx.of[k] += shares[i].of[k];
    for (int k = 0; k < kAtOnce; ++k)
      dx.of[k] = slopes[0].of[k] * powers[0].of[k] - 2 * g.alpha * g.beta * x[0].of[k] * dx.of[k];
    cuda::store_few(to + c * g.step, dx);
  }
}

// body(pixels per thread, length of the window as in LrnWindow).
template <class Body>
std::unique_ptr<Kernel> by_window(const Geometry& g, Body body) {
  const auto one = std::integral_constant<int, 1>{};
  switch (g.in_registers() ? g.size : 0) {
    case 3:
      return cuda::by_row(g.at_once(), [&](auto at_once) { return body(at_once, std::integral_constant<int, 3>{}); });
    case 5:
      return cuda::by_row(g.at_once(), [&](auto at_once) { return body(at_once, std::integral_constant<int, 5>{}); });
    case 7: return body(one, std::integral_constant<int, 7>{});
    case 9: return body(one, std::integral_constant<int, 9>{});
    default: return body(one, std::integral_constant<int, 0>{});
  }
}

}  // namespace

std::vector<Algorithm> LrnForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const Geometry g(attrs, operands[0].tensor);
  return {{.workspace_bytes = g.workspace_bytes(g.size)}};
}

std::unique_ptr<Kernel> LrnForward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  cuda::need_one_order(operands);
  const Geometry g(attrs, operands[0].tensor);
  return by_window(g, [&](auto at_once, auto size) -> std::unique_ptr<Kernel> {
    return cuda::kernel([g](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      constexpr int kAtOnce = decltype(at_once)::value, kSize = decltype(size)::value;
      cuda::launch("local response normalization", lrn_kernel<kAtOnce, kSize>, cuda::blocks_for(g.pixels() / kAtOnce),
                   cuda::kThreads, context, g, cuda::in(operand, 0), cuda::out(operand, 1),
                   reinterpret_cast<float*>(workspace));
    });
  });
}

std::vector<Algorithm> LrnBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const Geometry g(attrs, operands[0].tensor);
  return {{.workspace_bytes = g.workspace_bytes(2 * g.size + 2 * (g.before + 1))}};
}

std::unique_ptr<Kernel> LrnBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  cuda::need_one_order(operands);
  const Geometry g(attrs, operands[0].tensor);
  return by_window(g, [&](auto at_once, auto size) -> std::unique_ptr<Kernel> {
    return cuda::kernel([g](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      constexpr int kAtOnce = decltype(at_once)::value, kSize = decltype(size)::value;
      cuda::launch("local response normalization's gradient", lrn_backward_kernel<kAtOnce, kSize>,
                   cuda::blocks_for(g.pixels() / kAtOnce), cuda::kThreads, context, g, cuda::in(operand, 0),
                   cuda::in(operand, 1), cuda::out(operand, 2), reinterpret_cast<float*>(workspace));
    });
  });
}

}  // namespace plimsoll
