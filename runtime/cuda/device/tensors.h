// Device code over many tensors in one launch: a norm over all gradients, an optimizer's step. The list of tensors is
// passed as the kernel's argument, which is limited to 4 KiB; longer lists take several launches.
//
//   tensor     0         1     2
//   blocks   | 0 1 2 3 | 4 | 5 6 |      a block has a stretch of one tensor
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <span>

#include "runtime/cuda/device/launch.h"

namespace plimsoll::cuda {

inline constexpr int kFoursOfThread = 2;  // accesses of 16 bytes in flight before the first is used
inline constexpr int64_t kElementsOfBlock = int64_t{4} * kFoursOfThread * kThreads;

// K addresses for each: a weight, its gradient, its state. All are aligned to 16 bytes.
template <size_t K>
struct Tensors {
  static constexpr int kAtMost = static_cast<int>(3584 / (K * sizeof(float*) + sizeof(int64_t) + sizeof(int32_t)));

  int count = 0;
  int32_t ends[kAtMost];  // cumulative number of blocks, including this tensor
  int64_t sizes[kAtMost];
  float* of[K][kAtMost];

  int32_t blocks() const { return count == 0 ? 0 : ends[count - 1]; }
  // false: it does not fit and must go into the next launch.
  bool add(const std::array<float*, K>& addresses, int64_t size) {
    constexpr int64_t kMostBlocks = int64_t{1} << 30;
    const int64_t end = blocks() + divided_up(size, kElementsOfBlock);
    if (count == kAtMost || (count > 0 && end > kMostBlocks)) return false;
    if (end > kMostBlocks) throw KernelError("a tensor of " + std::to_string(size) + " elements in one launch");
    ends[count] = static_cast<int32_t>(end);
    sizes[count] = size;
    for (size_t k = 0; k < K; ++k) of[k][count] = addresses[k];
    ++count;
    return true;
  }
};

// For a launch whose blocks are distributed over a list: the entry of this block, and its index within the entry.
struct ShareOfBlock {
  int number;
  int64_t block;
};

// `list.ends`: for each of `list.count` entries, the cumulative number of blocks.
template <class List>
__device__ ShareOfBlock share_of_block(const List& list) {
  const int32_t block = static_cast<int32_t>(blockIdx.x);
  int low = 0, high = list.count - 1;  // finds the first entry that ends after the block
  while (low < high) {
    const int middle = (low + high) / 2;
    if (list.ends[middle] > block) high = middle;
    else low = middle + 1;
  }
  return {low, block - (low == 0 ? 0 : list.ends[low - 1])};
}

struct StretchOfTensor {
  int tensor;
  int64_t begin, end;  // elements
};

template <size_t K>
__device__ StretchOfTensor stretch_of_block(const Tensors<K>& tensors) {
  const auto [number, block] = share_of_block(tensors);
  const int64_t begin = block * kElementsOfBlock, size = tensors.sizes[number];
  return {number, begin, min(begin + kElementsOfBlock, size)};
}

// body(tensors) for each launch; entry(i) gives {addresses, size}.
template <size_t K, class Entry, class Body>
void for_tensors(size_t count, Entry entry, Body body) {
  Tensors<K> tensors;
  for (size_t i = 0; i < count; ++i) {
    const auto [addresses, size] = entry(i);
    if (size == 0 || tensors.add(addresses, size)) continue;
    body(tensors);
    tensors.count = 0;
    tensors.add(addresses, size);
  }
  if (tensors.count > 0) body(tensors);
}

}  // namespace plimsoll::cuda
