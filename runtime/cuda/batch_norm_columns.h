// Batch normalization with contiguous channels (batch_norm.h): partial results of 32 channels at a time, and the passes
// over all elements, in which adjacent threads read the parameters of adjacent channels.
#pragma once

#include "runtime/cuda/batch_norm.h"

namespace plimsoll::cuda::batch_norm {

// A thread computes the moments of the values it holds, then merges them with those of its previous values and those of
// the other rows. At least two blocks fit a multiprocessor: with one, too few loads are in flight to saturate memory
// bandwidth.
static __global__ void __launch_bounds__(kThreads, 2) moments_of_columns_kernel(Channels shape, const float* x, Moments* moments) {
  __shared__ Moments of_line[kLines][kColumns];
  const int column = static_cast<int>(threadIdx.x) % kColumns, line = static_cast<int>(threadIdx.x) / kColumns;
  const int64_t c = int64_t{blockIdx.x} % shape.groups() * kColumns + column, stretch = int64_t{blockIdx.x} / shape.groups();
  const int64_t end = min((stretch + 1) * shape.stretch, shape.count);
  Moments all{0, 0, 0};
  for (int64_t first = stretch * shape.stretch + line; c < shape.channels && first < end; first += kPixelsAtOnce) {
    float held[kHeld];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int64_t i = first + k * kLines;
      held[k] = i < end ? x[i * shape.channels + c] : 0;
      sum += held[k];
    }
    const int64_t left = (end - first + kLines - 1) / kLines;
    const double count = static_cast<double>(left < kHeld ? left : kHeld), mean = static_cast<double>(sum) / count;
    const float middle = static_cast<float>(mean);
    float squares = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const float off = first + k * kLines < end ? held[k] - middle : 0;
      squares += off * off;
    }
    all = merge(all, {count, mean, static_cast<double>(squares)});
  }
  of_line[line][column] = all;
  __syncthreads();
  if (line != 0 || c >= shape.channels) return;
  for (int other = 1; other < kLines; ++other) all = merge(all, of_line[other][column]);
  moments[c * shape.stretches + stretch] = all;
}

// Four channels of a pixel, or one: adjacent threads read the parameters of adjacent channels. If the number of
// channels is a multiple of four, all accesses are aligned to 16 bytes.
template <bool kFour, bool kAdd, bool kRelu, class Index>
__global__ void normalize_columns_kernel(Index n, Index steps_of_pixel, const float* x, const float* factor, const float* offset,
                                         const float* addend, float* y) {
  const int64_t number = thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index c = static_cast<Index>(number) % steps_of_pixel;
  const auto value = [](float from, float a, float b, float more) {
    const float v = kAdd ? from * a + b + more : from * a + b;
    return kRelu ? (v > 0 ? v : 0) : v;
  };
  if constexpr (kFour) {
    const float4 v = load4(x + 4 * number), a = load4(factor + 4 * c), b = load4(offset + 4 * c);
    const float4 more = kAdd ? load4(addend + 4 * number) : make_float4(0, 0, 0, 0);
    store4(y + 4 * number, make_float4(value(v.x, a.x, b.x, more.x), value(v.y, a.y, b.y, more.y), value(v.z, a.z, b.z, more.z),
                                       value(v.w, a.w, b.w, more.w)));
  } else {
    y[number] = value(x[number], factor[c], offset[c], kAdd ? addend[number] : 0);
  }
}

// The values that a thread holds at once are summed in f32.
template <bool kRelu>
__global__ void sums_of_columns_kernel(Channels shape, const float* x, const float* dy, const float* y, const float* mean, Sums* sums) {
  __shared__ Sums of_line[kLines][kColumns];
  const int column = static_cast<int>(threadIdx.x) % kColumns, line = static_cast<int>(threadIdx.x) / kColumns;
  const int64_t c = int64_t{blockIdx.x} % shape.groups() * kColumns + column, stretch = int64_t{blockIdx.x} / shape.groups();
  const int64_t end = min((stretch + 1) * shape.stretch, shape.count);
  Sums all{0, 0};
  const float middle = c < shape.channels ? mean[c] : 0;
  for (int64_t first = stretch * shape.stretch + line; c < shape.channels && first < end; first += kPixelsAtOnce) {
    float g_sum = 0, g_off = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int64_t i = first + k * kLines;
      if (i >= end) break;
      const int64_t at = i * shape.channels + c;
      const float g = kRelu && !(y[at] > 0) ? 0 : dy[at];
      g_sum += g;
      g_off += g * (x[at] - middle);
    }
    all = plus(all, {static_cast<double>(g_sum), static_cast<double>(g_off)});
  }
  of_line[line][column] = all;
  __syncthreads();
  if (line != 0 || c >= shape.channels) return;
  for (int other = 1; other < kLines; ++other) all = plus(all, of_line[other][column]);
  sums[c * shape.stretches + stretch] = all;
}

template <bool kFour, bool kRelu, class Index>
__global__ void gradient_of_columns_kernel(Index n, Index steps_of_pixel, int64_t channels, const float* x, const float* dy,
                                           const float* y, const float* p, float* dx) {
  const int64_t number = thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index step = static_cast<Index>(number) % steps_of_pixel;
  const float *const a = p + (kFour ? 4 : 1) * step, *const b = a + channels, *const d = b + channels;
  const auto value = [](float from, float slope, float result, float of_slope, float of_x, float constant) {
    const float g = kRelu && !(result > 0) ? 0 : slope;
    return g * of_slope + (from * of_x + constant);
  };
  if constexpr (kFour) {
    const float4 u = load4(x + 4 * number), v = load4(dy + 4 * number), i = load4(a), j = load4(b),
                 k = load4(d), w = kRelu ? load4(y + 4 * number) : v;
    store4(dx + 4 * number, make_float4(value(u.x, v.x, w.x, i.x, j.x, k.x), value(u.y, v.y, w.y, i.y, j.y, k.y),
                                              value(u.z, v.z, w.z, i.z, j.z, k.z), value(u.w, v.w, w.w, i.w, j.w, k.w)));
  } else {
    dx[number] = value(x[number], dy[number], kRelu ? y[number] : 0, *a, *b, *d);
  }
}

}  // namespace plimsoll::cuda::batch_norm
