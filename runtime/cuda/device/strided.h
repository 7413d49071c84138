// Loop nests (runtime/loops.h) in the form that kernels take: a thread computes its offset in every operand from its
// number.
#pragma once

#include <cuda_runtime.h>

#include "runtime/compiled_types.h"
#include "runtime/loops.h"

namespace plimsoll::cuda {

inline constexpr int kMaxLoops = kMaxRank + 1;

template <size_t K>
struct DeviceLoops {
  int depth = 0;
  int64_t counts[kMaxLoops] = {};  // innermost first
  int64_t strides[K][kMaxLoops] = {};
};

template <size_t K>
struct Places {
  int64_t of[K];
};

// Step `at` of the whole nest. Index has 32 bits if the nest is short enough, because divisions then take a third of
// the time.
template <class Index, size_t K>
__device__ Places<K> place(const DeviceLoops<K>& loops, Index at) {
  Places<K> places;
  for (size_t k = 0; k < K; ++k) places.of[k] = 0;
  for (int i = 0; i < loops.depth; ++i) {
    const Index count = static_cast<Index>(loops.counts[i]), next = at / count;
    const int64_t here = static_cast<int64_t>(at - next * count);
    for (size_t k = 0; k < K; ++k) places.of[k] += here * loops.strides[k][i];
    at = next;
  }
  return places;
}

// `at_once` adjacent elements of the innermost loop become one step.
template <size_t K>
DeviceLoops<K> on_device(const Loops<K>& loops, int64_t at_once = 1) {
  if (loops.depth() > static_cast<size_t>(kMaxLoops)) throw KernelError("operands of too many dimensions");
  DeviceLoops<K> device;
  device.depth = static_cast<int>(loops.depth());
  for (size_t i = 0; i < loops.depth(); ++i) {
    device.counts[i] = i == 0 ? loops.counts[0] / at_once : loops.counts[i];
    for (size_t k = 0; k < K; ++k) device.strides[k][i] = i == 0 ? loops.strides[k][0] * at_once : loops.strides[k][i];
  }
  return device;
}

// Whether four adjacent elements of the innermost loop are contiguous and aligned to four floats in every operand, or
// are one repeated value.
template <size_t K>
bool four_at_once(const Loops<K>& loops) {
  if (loops.depth() == 0 || loops.counts[0] % 4 != 0) return false;
  for (size_t k = 0; k < K; ++k) {
    if (loops.strides[k][0] == 0) continue;
    if (loops.strides[k][0] != 1) return false;
    for (size_t i = 1; i < loops.depth(); ++i)
      if (loops.strides[k][i] % 4 != 0) return false;
  }
  return true;
}

// body(an Index that can hold `n`, a number of elements): uint32_t or uint64_t.
template <class Body>
decltype(auto) by_index(int64_t n, Body body) {
  const bool is_short = n <= int64_t{0x7FFFFFFF};
  if constexpr (kIndexBits == 64) {
    return body(uint64_t{0});
  } else if constexpr (kIndexBits == 32) {
    if (!is_short) throw KernelError("this build has kernels for fewer than 2^31 elements only (PLIMSOLL_INDEX_BITS)");
    return body(uint32_t{0});
  } else {
    return is_short ? body(uint32_t{0}) : body(uint64_t{0});
  }
}

}  // namespace plimsoll::cuda
