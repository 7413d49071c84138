// Where kernels of a recorded round read what changes, and what a kernel changes there.
#pragma once

#include "runtime/cuda/launch.h"

namespace plimsoll::cuda {

Changing* changing_on_device();

// Enqueues: where the round is guarded and the loss is no finite number, updates from here on are discarded.
void watch_loss(cudaStream_t stream, Changing* changing, const float* loss);

}  // namespace plimsoll::cuda
