// Device code for passes over all elements of [samples, channels, pixels] with a parameter per channel.
#pragma once

#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

// How a thread's elements lie in planes of contiguous pixels: four of one plane; four that may be of adjacent planes,
// if the number of pixels is odd and that of all elements is a multiple of four; or one.
enum class Step { four, across, one };

// The parameter of a channel for each of the elements of a thread.
template <Step kStep, class Index>
struct ChannelsOfThread {
  static constexpr int kAtOnce = kStep == Step::one ? 1 : 4;
  int64_t of[kAtOnce];

  __device__ ChannelsOfThread(Index number, Index pixels, Index channels) {
    const Index i = number * kAtOnce, plane = i / pixels;
    Index left = pixels - (i - plane * pixels), c = plane % channels;
    for (int k = 0; k < kAtOnce; ++k) {
      of[k] = static_cast<int64_t>(c);
      if (kStep != Step::across || --left > 0) continue;
      left = pixels;
      c = c + 1 == channels ? 0 : c + 1;
    }
  }
  __device__ Few<kAtOnce> load(const float* from) const {
    Few<kAtOnce> few;
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = from[of[k]];
    return few;
  }
};

}  // namespace plimsoll::cuda
