// The values that kernels of a recorded round read because they change, and the kernel that changes one of them.
#pragma once

#include "runtime/cuda/device/launch.h"

namespace plimsoll::cuda {

Changing* changing_on_device();

// Enqueues: if the round is guarded and the loss is not finite, updates from here on are discarded.
void watch_loss(cudaStream_t stream, Changing* changing, const float* loss);

}  // namespace plimsoll::cuda
