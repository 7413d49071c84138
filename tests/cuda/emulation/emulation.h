// Between the parts of the emulation.
#pragma once

#include "cuda_runtime.h"

namespace emulation {

// Every block of a grid, one after the other.
void run_grid(const dim3& blocks, const dim3& threads, const std::function<void()>& thread);

// What the device has left (memory.cpp).
size_t bytes_left();

// So many kernels were launched: what a library or another process may do then (memory.cpp).
void tell_library(uint64_t launched);

// Behind what is in the stream, or in its recording.
void issue_work(Stream* stream, std::function<void()> work);

}  // namespace emulation
