// Shared by the batch normalization kernels: the partition of the work, and the partial results of its stretches.
//
// A stretch fits the registers of a block, so its moments can be computed mean first although x is read from memory
// once; sums of squares without subtracting the mean would cancel. Moments are merged as in Chan, Golub, LeVeque,
// "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
//
// If the channels of a pixel are contiguous (channels last; samples without pixels), a block processes 32 channels with
// eight rows of threads, each row every eighth pixel of the stretch:
//
//   stretch of a channel     | 4096 values of one plane after the other |
//   stretch of 32 channels   | pixels × 32: a row of threads reads contiguous memory |
#pragma once

#include <algorithm>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/layout.h"
#include "runtime/cuda/vector.h"

namespace plimsoll::cuda::batch_norm {

inline constexpr int kHeld = 16;                             // values per thread
inline constexpr int64_t kStretch = kThreads * kHeld;  // per channel: 16 KiB

inline constexpr int kColumns = 32, kLines = kThreads / kColumns;
inline constexpr int64_t kPixelsAtOnce = int64_t{kLines} * kHeld;

// The elements of a channel, sample by sample, divided into stretches.
struct Channels {
  int64_t samples, channels, pixels, count, stretch, stretches;
  bool beside;  // the channels of a pixel are contiguous

  explicit Channels(const TensorDesc& x) {
    const PlaneShape shape(x);
    samples = shape.samples;
    channels = shape.channels;
    pixels = shape.pixels;
    count = samples * pixels;
    beside = shape.channels_last || pixels == 1;
    // With contiguous channels: few long stretches, but enough blocks for a large device.
    constexpr int64_t kMost = 8, kBlocks = 1024;
    const int64_t at_once = divided_up(count, kPixelsAtOnce) * groups();
    stretch = beside ? kPixelsAtOnce * std::clamp<int64_t>(at_once / kBlocks, 1, kMost) : kStretch;
    stretches = divided_up(count, stretch);
  }
  int64_t elements() const { return count * channels; }
  __host__ __device__ int64_t groups() const { return (channels + kColumns - 1) / kColumns; }
  int64_t blocks() const { return (beside ? groups() : channels) * stretches; }
  // Whether four adjacent elements of a channel are contiguous and aligned to 16 bytes.
  bool by_four() const { return (beside ? channels : pixels) % 4 == 0; }
  // The offset of element i of channel c.
  template <class Index>
  __device__ int64_t at(int64_t c, Index i) const {
    const Index sample = i / static_cast<Index>(pixels), pixel = i - sample * static_cast<Index>(pixels);
    return (static_cast<int64_t>(sample) * channels + c) * pixels + static_cast<int64_t>(pixel);
  }
};

// The k-th of a thread's elements of a stretch; by four, elements k to k + 3 are adjacent.
template <bool kFour>
__device__ int64_t element_of_thread(int64_t begin, int k) {
  return kFour ? begin + int64_t{k & ~3} * kThreads + 4 * threadIdx.x + (k & 3) : begin + int64_t{k} * kThreads + threadIdx.x;
}

struct Moments {
  double count, mean, squares;  // squares: sum of (x - mean)^2
};

// A warp merges the stretches of its channel: each lane its own, then the lanes, always in the same order.
struct Merged {
  Moments m;

  __device__ Merged from(int, int distance) const {
    return {{__shfl_down_sync(0xFFFFFFFFU, m.count, distance), __shfl_down_sync(0xFFFFFFFFU, m.mean, distance),
             __shfl_down_sync(0xFFFFFFFFU, m.squares, distance)}};
  }
};

__device__ inline Moments merge(Moments a, Moments b) {
  if (b.count == 0) return a;
  const double total = a.count + b.count, delta = b.mean - a.mean;
  return {total, a.mean + delta * (b.count / total), a.squares + b.squares + delta * delta * (a.count * b.count / total)};
}

// Sums of the gradient g = dy, masked by a fused Relu.
struct Sums {
  double g, g_off;  // sums of g and of g * (x - mean)

  __device__ Sums from(int, int distance) const {
    return {__shfl_down_sync(0xFFFFFFFFU, g, distance), __shfl_down_sync(0xFFFFFFFFU, g_off, distance)};
  }
};

__device__ inline Sums plus(Sums a, Sums b) { return {a.g + b.g, a.g_off + b.g_off}; }

}  // namespace plimsoll::cuda::batch_norm
