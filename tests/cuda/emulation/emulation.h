// The interface between the parts of the emulation.
#pragma once

#include "cuda_runtime.h"

namespace emulation {

// Runs the blocks of a grid, one after another.
void run_grid(const dim3& blocks, const dim3& threads, const std::function<void()>& thread);

// The free memory of the device (memory.cpp).
size_t bytes_left();

// Reports the number of launched kernels, at which a library or another process may act (memory.cpp).
void tell_library(uint64_t launched);

// Appends work to the stream, or to its recording.
void issue_work(Stream* stream, std::function<void()> work);

}  // namespace emulation
