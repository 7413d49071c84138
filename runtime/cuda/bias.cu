#include "runtime/cuda/bias.h"

#include <algorithm>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/strided.h"
#include "runtime/cuda/vector.h"

namespace plimsoll::cuda {
namespace {

constexpr int kWarp = 32;

__device__ float positive(float a) { return a > 0 ? a : 0.0F; }
__device__ float4 positive(float4 a) { return {positive(a.x), positive(a.y), positive(a.z), positive(a.w)}; }
__device__ void set_all(float& element, float value) { element = value; }
__device__ void set_all(float4& element, float value) { element = {value, value, value, value}; }

// `across` threads of a block process a plane, the other threads process other planes.
template <class Element>
__global__ void add_bias_kernel(Element* y, const float* b, bool relu, int64_t planes, int64_t channels, int64_t elements, int across) {
  const int64_t beside = blockDim.x / across;
  const int64_t plane = blockIdx.x * beside + threadIdx.x / across;
  if (plane >= planes) return;
  Element bias;
  set_all(bias, b ? b[plane % channels] : 0.0F);
  Element* const row = y + plane * elements;
  for (int64_t i = threadIdx.x % across; i < elements; i += across) {
    const Element sum = row[i] + bias;
    row[i] = relu ? positive(sum) : sum;
  }
}

// Channels last: each of the `per_pixel` elements belongs to different channels.
template <class Element>
__global__ void add_bias_of_channels_kernel(Element* y, const Element* b, bool relu, int64_t elements, int64_t per_pixel) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= elements) return;
  Element bias;
  set_all(bias, 0.0F);
  if (b) bias = b[i % per_pixel];
  const Element sum = y[i] + bias;
  y[i] = relu ? positive(sum) : sum;
}

template <class Element>
void add_bias_of_channels(const RunContext& context, float* y, const float* b, bool relu, const Planes& shape) {
  constexpr int64_t kAtOnce = sizeof(Element) / sizeof(float);
  const int64_t elements = shape.samples * shape.channels * shape.plane / kAtOnce;
  launch("bias", add_bias_of_channels_kernel<Element>, blocks_for(elements), kThreads, context, reinterpret_cast<Element*>(y),
         reinterpret_cast<const Element*>(b), relu, elements, shape.channels / kAtOnce);
}

template <class Element>
void add_bias_to(const RunContext& context, Element* y, const float* b, bool relu, const Planes& shape, int64_t elements) {
  const int64_t planes = shape.samples * shape.channels;
  const int across = elements >= 4 * kThreads ? kThreads : kWarp;
  launch("bias", add_bias_kernel<Element>, divided_up(planes, kThreads / across), kThreads, context, y, b, relu, planes,
         shape.channels, elements, across);
}

// With contiguous channels, a block processes 32 of them, and each row of threads every eighth pixel.
constexpr int kColumns = kWarp, kLines = kThreads / kColumns;

int64_t groups_of(const Planes& shape) { return divided_up(shape.channels, kColumns); }

// Enough blocks for today's largest devices, each with at least one sample, or with some pixels per row.
int64_t parts_of(const Planes& shape) {
  constexpr int64_t kBlocks = 1024, kPixels = 16 * kLines;
  if (shape.channels_last)
    return std::clamp<int64_t>(kBlocks / std::max<int64_t>(groups_of(shape), 1), 1,
                               std::max<int64_t>(divided_up(shape.samples * shape.plane, kPixels), 1));
  return std::clamp<int64_t>(kBlocks / std::max<int64_t>(shape.channels, 1), 1, std::max<int64_t>(shape.samples, 1));
}

// A block sums a channel over a part of the samples in a tree. Its threads traverse the part's planes as if they were
// one, because many planes are smaller than a block, with several loads per thread in flight.
template <int kAtOnce, class Index>
__global__ void sum_parts_kernel(const float* dy, float* parts, int64_t samples, int64_t channels, Index plane, int64_t count) {
  constexpr int kUnderWay = 4, kStep = kAtOnce * kThreads;
  const int64_t channel = blockIdx.x % channels, part = blockIdx.x / channels;
  const int64_t first = samples * part / count, end = samples * (part + 1) / count;
  const float* const rows = dy + (first * channels + channel) * static_cast<int64_t>(plane);
  const int64_t all = (end - first) * static_cast<int64_t>(plane);
  float of_load[kUnderWay] = {};
  for (int64_t begin = int64_t{kAtOnce} * threadIdx.x; begin < all; begin += kUnderWay * kStep) {
#pragma unroll
    for (int k = 0; k < kUnderWay; ++k) {
      const int64_t i = begin + k * kStep;
      if (i >= all) continue;
      const Index row = static_cast<Index>(i) / plane, at = static_cast<Index>(i) - row * plane;
      const Few<kAtOnce> few = load_few<kAtOnce>(rows + static_cast<int64_t>(row) * channels * static_cast<int64_t>(plane) + at);
      for (const float v : few.of) of_load[k] += v;
    }
  }
  __shared__ float sums[kThreads];
  sums[threadIdx.x] = (of_load[0] + of_load[1]) + (of_load[2] + of_load[3]);
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) parts[part * channels + channel] = sums[0];
}

__global__ void sum_parts_of_channels_kernel(const float* dy, float* parts, int64_t pixels, int64_t channels, int64_t count) {
  __shared__ float of_line[kLines][kColumns];
  const int column = static_cast<int>(threadIdx.x) % kColumns, line = static_cast<int>(threadIdx.x) / kColumns;
  const int64_t part = blockIdx.x % count, channel = blockIdx.x / count * kColumns + column;
  const int64_t first = pixels * part / count, end = pixels * (part + 1) / count;
  float sum = 0;
  if (channel < channels)
    for (int64_t i = first + line; i < end; i += kLines) sum += dy[i * channels + channel];
  of_line[line][column] = sum;
  __syncthreads();
  if (line != 0 || channel >= channels) return;
  for (int other = 1; other < kLines; ++other) sum += of_line[other][column];
  parts[part * channels + channel] = sum;
}

__global__ void add_parts_kernel(const float* parts, float* db, bool accumulate, int64_t channels, int64_t count) {
  const int64_t channel = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (channel >= channels) return;
  float sum = 0;
  for (int64_t part = 0; part < count; ++part) sum += parts[part * channels + channel];
  db[channel] = accumulate ? db[channel] + sum : sum;
}

__global__ void add_to_kernel(float4* to, const float4* from, int64_t fours, int64_t rest) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < fours) {
    to[i] = to[i] + from[i];
  } else if (i < fours + rest) {
    const int64_t at = 4 * fours + (i - fours);
    reinterpret_cast<float*>(to)[at] += reinterpret_cast<const float*>(from)[at];
  }
}

}  // namespace

void add_bias(const RunContext& context, float* y, const float* b, bool relu, const Planes& shape) {
  if (shape.plane == 0) return;
  if (shape.channels_last) {
    if (shape.channels % 4 == 0) return add_bias_of_channels<float4>(context, y, b, relu, shape);
    return add_bias_of_channels<float>(context, y, b, relu, shape);
  }
  if (shape.plane % 4 == 0) add_bias_to(context, reinterpret_cast<float4*>(y), b, relu, shape, shape.plane / 4);
  else add_bias_to(context, y, b, relu, shape, shape.plane);
}

int64_t bias_gradient_workspace(const Planes& shape) {
  return parts_of(shape) * shape.channels * static_cast<int64_t>(sizeof(float));
}

void bias_gradient(const RunContext& context, const float* dy, float* db, bool accumulate, float* parts, const Planes& shape) {
  const int64_t count = parts_of(shape);
  if (shape.channels_last)
    launch("bias gradient", sum_parts_of_channels_kernel, groups_of(shape) * count, kThreads, context, dy, parts,
           shape.samples * shape.plane, shape.channels, count);
  else
    by_row(shape.plane, [&](auto at_once) {
      by_index(shape.samples * shape.plane, [&](auto index) {
        using Index = decltype(index);
        launch("bias gradient", sum_parts_kernel<decltype(at_once)::value, Index>, shape.channels * count, kThreads, context, dy, parts,
               shape.samples, shape.channels, static_cast<Index>(shape.plane), count);
      });
    });
  launch("bias gradient", add_parts_kernel, blocks_for(shape.channels), kThreads, context, parts, db, accumulate, shape.channels, count);
}

void add_to(const RunContext& context, float* to, const float* from, int64_t count) {
  const int64_t fours = count / 4, rest = count % 4;
  launch("gradient added", add_to_kernel, blocks_for(fours + rest), kThreads, context, reinterpret_cast<float4*>(to),
         reinterpret_cast<const float4*>(from), fours, rest);
}

}  // namespace plimsoll::cuda
