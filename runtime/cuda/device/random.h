// Counter-based random numbers, the host's bit for bit (runtime/host/random.h): SplitMix64 (Steele, Lea, Flood, "Fast
// splittable pseudorandom number generators", 2014), so any thread can compute any element's.
#pragma once

#include "runtime/cuda/device/launch.h"

namespace plimsoll::cuda {

inline constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

__device__ inline uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// A kernel's own stream in this round.
struct RandomStream {
  int64_t key = 0;
  int64_t skipped = 0;  // elements of the preceding ranks

  __device__ uint64_t start(const Changing& now) const {
    uint64_t stream = mixed(now.seed + kGolden * (static_cast<uint64_t>(now.iteration) + 1));
    stream = mixed(stream + kGolden * (static_cast<uint64_t>(now.round) + 1));
    return mixed(stream + kGolden * (static_cast<uint64_t>(key) + 1));
  }
  // The 32 random bits of element i; `start` is the result of start().
  __device__ uint32_t at(uint64_t start, int64_t i) const {
    return static_cast<uint32_t>(mixed(start + kGolden * static_cast<uint64_t>(skipped + i)) >> 32);
  }
};

// The mask of a dropout: a factor per element, 0 or the reciprocal of the fraction that is kept.
struct DropoutMask {
  RandomStream random;
  uint32_t dropped_below;  // out of 2^32
  float scale;

  DropoutMask(double ratio, int64_t key)
      : random{key},
        dropped_below(static_cast<uint32_t>(ratio * 0xFFFFFFFFp0)),
        scale(ratio < 1 ? static_cast<float>(1 / (1 - ratio)) : 0) {}

  __device__ float of(uint64_t stream, int64_t i) const { return random.at(stream, i) < dropped_below ? 0.0F : scale; }
};

}  // namespace plimsoll::cuda
