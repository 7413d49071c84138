#include "runtime/cuda/bias.h"

#include <algorithm>

#include "runtime/cuda/launch.h"

namespace plimsoll::cuda {
namespace {

constexpr int kWarp = 32;

__device__ float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ float positive(float a) { return a > 0 ? a : 0.0F; }
__device__ float4 positive(float4 a) { return {positive(a.x), positive(a.y), positive(a.z), positive(a.w)}; }
__device__ void set_all(float& element, float value) { element = value; }
__device__ void set_all(float4& element, float value) { element = {value, value, value, value}; }

// `across` threads of a block pass over a plane, the others over the planes beside it.
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

template <class Element>
void add_bias_to(const RunContext& context, Element* y, const float* b, bool relu, const Planes& shape, int64_t elements) {
  const int64_t planes = shape.samples * shape.channels;
  const int across = elements >= 4 * kThreads ? kThreads : kWarp;
  launch("bias", add_bias_kernel<Element>, divided_up(planes, kThreads / across), kThreads, context, y, b, relu, planes,
         shape.channels, elements, across);
}

// Enough blocks to fill any device of today, and each with at least one sample.
int64_t parts_of(const Planes& shape) {
  constexpr int64_t kBlocks = 1024;
  return std::clamp<int64_t>(kBlocks / std::max<int64_t>(shape.channels, 1), 1, std::max<int64_t>(shape.samples, 1));
}

// A block has a channel and a part of the samples, and adds up in a tree.
__global__ void sum_parts_kernel(const float* dy, float* parts, int64_t samples, int64_t channels, int64_t plane, int64_t count) {
  const int64_t channel = blockIdx.x % channels, part = blockIdx.x / channels;
  const int64_t first = samples * part / count, end = samples * (part + 1) / count;
  float sum = 0;
  for (int64_t n = first; n < end; ++n) {
    const float* const row = dy + (n * channels + channel) * plane;
    for (int64_t i = threadIdx.x; i < plane; i += blockDim.x) sum += row[i];
  }
  __shared__ float sums[kThreads];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) parts[part * channels + channel] = sums[0];
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
  if (shape.plane % 4 == 0) add_bias_to(context, reinterpret_cast<float4*>(y), b, relu, shape, shape.plane / 4);
  else add_bias_to(context, y, b, relu, shape, shape.plane);
}

int64_t bias_gradient_workspace(const Planes& shape) {
  return parts_of(shape) * shape.channels * static_cast<int64_t>(sizeof(float));
}

void bias_gradient(const RunContext& context, const float* dy, float* db, bool accumulate, float* parts, const Planes& shape) {
  const int64_t count = parts_of(shape);
  launch("bias gradient", sum_parts_kernel, shape.channels * count, kThreads, context, dy, parts, shape.samples, shape.channels,
         shape.plane, count);
  launch("bias gradient", add_parts_kernel, blocks_for(shape.channels), kThreads, context, parts, db, accumulate, shape.channels, count);
}

void add_to(const RunContext& context, float* to, const float* from, int64_t count) {
  const int64_t fours = count / 4, rest = count % 4;
  launch("gradient added", add_to_kernel, blocks_for(fours + rest), kThreads, context, reinterpret_cast<float4*>(to),
         reinterpret_cast<const float4*>(from), fours, rest);
}

}  // namespace plimsoll::cuda
