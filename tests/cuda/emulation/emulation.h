// Between the parts of the emulation.
#pragma once

#include "cuda_runtime.h"

namespace emulation {

// Every block of a grid, one after the other.
void run_grid(const dim3& blocks, const dim3& threads, const std::function<void()>& thread);

}  // namespace emulation
