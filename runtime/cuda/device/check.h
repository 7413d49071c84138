// Every call of the CUDA runtime is checked here: a failure is thrown as an error that names the call.
#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

// Throws backend::DeviceError: "cudaMemcpyAsync of a load: an illegal memory access was encountered (700)".
void check(cudaError_t result, const char* call);

}  // namespace plimsoll::cuda
