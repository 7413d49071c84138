// Batch normalization with contiguous channels (batch_norm.h): the sums of columns, and the passes over all elements,
// in which adjacent threads read the parameters of adjacent channels.
#pragma once

#include "runtime/cuda/ops/batch_norm.h"

namespace plimsoll::cuda::batch_norm {

// A thread sums its values and their squares relative to the mean of the first rows that it loads: of some rows in f32,
// over all of them in f64. The mean of its values is close enough to that: of n rows with deviations from it, at least
// kAhead are near it, so that at most a factor of n / kAhead cancels, and n is some hundred.
template <int kColumns, class T>
struct MomentsOfColumns {
  static constexpr int kAtOnce = kColumns, kAhead = 8;
  using Partial = Moments;
  using Row = Few<kAtOnce>;

  const T* x;
  int64_t channels;
  ForwardEnd end;

  struct Column {
    const T* from;
    int64_t step;
    __device__ Row load(int64_t row) const { return load_few<kAtOnce>(from + row * step); }
  };
  __device__ Column at(int64_t group) const { return {x + kAtOnce * group, channels}; }

  struct Running {
    int64_t count = 0;
    float pivot[kAtOnce] = {};
    double sum[kAtOnce] = {}, squares[kAtOnce] = {};

    __device__ void add(const Row* rows, int there, const Column&) {
      for (int c = 0; c < kAtOnce; ++c) {
        if (count == 0) {
          float first = 0;
#pragma unroll
          for (int k = 0; k < kAhead; ++k) first += k < there ? rows[k].of[c] : 0;
          pivot[c] = first / static_cast<float>(there);
        }
        float of_rows = 0, of_squares = 0;
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          const float off = k < there ? rows[k].of[c] - pivot[c] : 0;
          of_rows += off;
          of_squares += off * off;
        }
        sum[c] += static_cast<double>(of_rows);
        squares[c] += static_cast<double>(of_squares);
      }
      count += there;
    }
    __device__ Moments partial(int c) const {
      if (count == 0) return {0, 0, 0};
      const double n = static_cast<double>(count), off = sum[c] / n;
      return {n, static_cast<double>(pivot[c]) + off, squares[c] - sum[c] * off};
    }
  };

  __device__ void finish(int64_t c, const Moments& moments) const { end.finish(c, moments); }
};

// y, dy and x are loaded before the first of them is used.
template <int kColumns, class Activation, class T>
struct GradientSumsOfColumns {
  static constexpr int kAtOnce = kColumns, kAhead = 4;
  using Partial = GradientSums;
  struct Row {
    Few<kAtOnce> x, dy, y;
  };

  const T *x, *dy, *y;
  int64_t channels;
  BackwardEnd end;
  Activation activation = {};

  struct Column {
    const T *x, *dy, *y;
    int64_t step;
    Few<kAtOnce> mean;
    Line lines[kAtOnce];
    Activation activation;
    __device__ Row load(int64_t row) const {
      Row loaded;
      loaded.x = load_few<kAtOnce>(x + row * step);
      loaded.dy = load_few<kAtOnce>(dy + row * step);
      if constexpr (Activation::kReadsOutput) loaded.y = load_few<kAtOnce>(y + row * step);
      else loaded.y = loaded.x;
      return loaded;
    }
    // The gradient before the activation.
    __device__ float gradient(const Row& row, int c) const {
      const float result = Activation::kReadsInput ? row.x.of[c] * lines[c].factor + lines[c].offset : row.y.of[c];
      return activation.gradient(row.dy.of[c], result);
    }
  };
  __device__ Column at(int64_t group) const {
    const int64_t c = kAtOnce * group;
    Column column{x + c,    dy + c, Activation::kReadsOutput ? y + c : nullptr,
                  channels, load_few<kAtOnce>(end.mean + c), {}, activation};
    if constexpr (Activation::kReadsInput)
      for (int k = 0; k < kAtOnce; ++k) column.lines[k] = end.line(c + k);
    return column;
  }

  struct Running {
    double g[kAtOnce] = {}, g_off[kAtOnce] = {};

    __device__ void add(const Row* rows, int there, const Column& column) {
      for (int c = 0; c < kAtOnce; ++c) {
        float of_rows = 0, of_products = 0;
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          const float slope = k < there ? column.gradient(rows[k], c) : 0;
          of_rows += slope;
          of_products += slope * (rows[k].x.of[c] - column.mean.of[c]);
        }
        g[c] += static_cast<double>(of_rows);
        g_off[c] += static_cast<double>(of_products);
      }
    }
    __device__ GradientSums partial(int c) const { return {{g[c], g_off[c]}}; }
  };

  __device__ void finish(int64_t c, const GradientSums& sums) const { end.finish(c, sums); }
};

// Four channels of a pixel, eight in bf16, or one: adjacent threads read the parameters of adjacent channels. If the
// number of channels is a multiple of that, all accesses are aligned to 16 bytes.
template <int kAtOnce, bool kAdd, class Activation, class Index, class T>
__global__ void normalize_columns_kernel(Activation activation, Index n, Index steps_of_pixel, const T* x,
                                         const float* factor, const float* offset, const T* addend, T* y) {
  const int64_t number = thread_number(), at = kAtOnce * number;
  if (number >= static_cast<int64_t>(n)) return;
  const int64_t c = kAtOnce * static_cast<int64_t>(static_cast<Index>(number) % steps_of_pixel);
  const Few<kAtOnce> v = load_few<kAtOnce>(x + at), a = load_few<kAtOnce>(factor + c),
                     b = load_few<kAtOnce>(offset + c);
  Few<kAtOnce> more = v;
  if constexpr (kAdd) more = load_few<kAtOnce>(addend + at);
  store_few(y + at, by_element(
                        [&](float from, float slope, float constant, float added) {
    return activation.value(kAdd ? from * slope + constant + added : from * slope + constant);
                        },
                        v, a, b, more));
}

template <int kAtOnce, class Activation, class Index, class T>
__global__ void gradient_of_columns_kernel(Activation activation, Index n, Index steps_of_pixel, int64_t channels,
                                           const T* x, const T* dy, const T* y, const float* p, T* dx) {
  const int64_t number = thread_number(), at = kAtOnce * number;
  if (number >= static_cast<int64_t>(n)) return;
  const float* const of = p + kAtOnce * static_cast<int64_t>(static_cast<Index>(number) % steps_of_pixel);
  const Few<kAtOnce> u = load_few<kAtOnce>(x + at), v = load_few<kAtOnce>(dy + at);
  Few<kAtOnce> w = v;
  if constexpr (Activation::kReadsOutput) w = load_few<kAtOnce>(y + at);
  if constexpr (Activation::kReadsInput)
    w = by_element([](float from, float factor, float offset) { return from * factor + offset; }, u,
                   load_few<kAtOnce>(of + 3 * channels), load_few<kAtOnce>(of + 4 * channels));
  store_few(dx + at, by_element(
                         [&](float from, float slope, float result, float of_slope, float of_x, float constant) {
    return activation.gradient(slope, result) * of_slope + (from * of_x + constant);
                         },
                         u, v, w, load_few<kAtOnce>(of), load_few<kAtOnce>(of + channels),
                         load_few<kAtOnce>(of + 2 * channels)));
}

}  // namespace plimsoll::cuda::batch_norm
