// A block's share of a loss, and the block that arrives last, which adds the shares in a fixed order.
#pragma once

#include "runtime/cuda/device/arrival.h"
#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/device/reduce.h"

namespace plimsoll::cuda {

struct LossShare {
  double loss, hits;

  __device__ LossShare from(int, int distance) const {
    return {__shfl_down_sync(0xFFFFFFFFU, loss, distance), __shfl_down_sync(0xFFFFFFFFU, hits, distance)};
  }
};

__device__ inline LossShare plus(LossShare a, LossShare b) { return {a.loss + b.loss, a.hits + b.hits}; }

// The factor of a loss: that of the mean, and the trainer's for an incomplete batch.
struct LossScale {
  double mean;
  ChangingArgument changing;

  __device__ double exact() const { return mean * changing.loss_scale(); }
  // Of the gradient, which may be scaled.
  __device__ double slope() const { return exact() * changing.gradient_scale(); }
};

struct LossTotal {
  LossShare* shares;   // one per block; null: no total is wanted
  float *loss, *hits;  // hits may be null

  // Ends a kernel. To be called by every thread; thread 0 has the share of the block.
  template <class Scale>
  __device__ void settle(const LossShare& share, const Scale& scale) const {
    if (threadIdx.x == 0) shares[blockIdx.x] = share;
    if (!arrives_last(0, gridDim.x)) return;
    LossShare sum{0, 0};
    for (int64_t i = threadIdx.x; i < static_cast<int64_t>(gridDim.x); i += kThreads) sum = plus(sum, shares[i]);
    sum = block_reduce<kThreads>(sum, plus);
    if (threadIdx.x != 0) return;
    *loss = static_cast<float>(sum.loss * scale.exact());
    if (hits) *hits = static_cast<float>(sum.hits);
  }
};

inline int64_t bytes_of_shares(int64_t blocks) { return blocks * static_cast<int64_t>(sizeof(LossShare)); }

}  // namespace plimsoll::cuda
