// Device code for a result of several blocks: each block writes its part of it to memory, and the block that arrives
// last combines the parts, in their order. So a result needs one launch, and its bits do not depend on which block is
// the last.
#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

// The blocks that have arrived, by result. In the program's image, and so zero at the start; the last block of a result
// leaves zero for the next launch. Kernels that use it follow each other on one stream.
inline constexpr int kArrivals = 4096;
static __device__ unsigned arrivals[kArrivals];

// Whether `count` blocks have arrived at the result, in every thread of the last of them; it then reads what the others
// wrote before. To be called once, by every thread of a block.
static __device__ inline bool arrives_last(int64_t result, unsigned count) {
  __shared__ bool last;
  __threadfence();  // what this thread wrote is visible to the block that arrives later
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&arrivals[result], count - 1) == count - 1;  // becomes zero after count - 1
  __syncthreads();
  if (last) __threadfence();  // what is read from here on is not older than the arrivals
  return last;
}

}  // namespace plimsoll::cuda
