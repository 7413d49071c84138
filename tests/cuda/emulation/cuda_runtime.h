// The part of the CUDA runtime that runtime/cuda uses, on the CPU. Found before NVIDIA's header, it lets g++ compile
// the kernels and the backend unmodified, so that they can be tested without a GPU.
//
//   kernels   every thread of a block is a fiber. It runs until it ends or reaches a barrier or a shuffle; a thread
//             that does not reach one for which all others wait is an error. Launches alternate between ascending and
//             descending thread order, so that a missing barrier for shared memory has an effect.
//   time      every executed work item takes a microsecond; events report nothing else.
//   streams   nothing runs when it is issued, only at a synchronization; then, of everything that its stream and its
//             events allow, the work issued last runs first. A missing wait changes the results.
//   memory    the environment determines the device's memory, the part used by others, the part that a library takes
//             later, and how much memory may be pinned (memory.cpp).
//   graphs    nodes with their dependencies and the arguments of their recording, played in the same adverse order. A
//             stream that was not joined is an error.
//
// Not covered: time, races between blocks or on device memory within a block, what other threads of a warp see
// meanwhile, limits of registers and shared memory, rounding of fused multiply-add. UndefinedBehaviorSanitizer checks
// the alignment of wide accesses; guards detect accesses beyond an operand.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)

#define CUDART_VERSION 13000

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

using std::isfinite;
inline int min(int a, int b) { return a < b ? a : b; }
inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnjoined = 904,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
inline constexpr unsigned cudaHostAllocDefault = 0, cudaEventDefault = 0, cudaEventDisableTiming = 2,
                          cudaStreamNonBlocking = 1;

struct cudaDeviceProp {
  char name[256];
  int major, minor;
};
struct cudaFuncAttributes {};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  struct Stream* stream;
  void* attrs;
  unsigned numAttrs;
};

using cudaStream_t = struct Stream*;
using cudaEvent_t = struct Event*;
using cudaGraph_t = struct Recorded*;
using cudaGraphExec_t = struct Playable*;
using cudaGraphNode_t = struct Node*;

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

cudaError_t cudaMalloc(void** address, size_t bytes);
cudaError_t cudaFree(void* address);
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* address);
cudaError_t cudaMemset(void* to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** behind, const void** edges,
                                     size_t* count);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* playable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t playable);
cudaError_t cudaGraphUpload(cudaGraphExec_t playable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t playable, cudaStream_t stream);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t playable, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind);

template <class T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = const_cast<void*>(static_cast<const void*>(&symbol));
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Kernel) {
  return cudaSuccess;
}

namespace emulation {

void issue_kernel(const cudaLaunchConfig_t& config, std::function<void()> thread);
// A kernel with its arguments, which are copied as bytes. `call` calls the kernel for one thread. There are hundreds of
// kernels: a std::function of each would take a twentieth of the time that this library takes to compile.
struct Launch {
  void (*kernel)();
  void (*call)(void (*kernel)(), const void* arguments);
  const void* arguments;
  size_t bytes;
};
void issue_kernel(const cudaLaunchConfig_t& config, const Launch& launch);
// The number of kernels launched since the process started.
uint64_t kernels_launched();
// The next cudaStreamEndCapture or cudaGraphInstantiateWithFlags fails with this error.
void refuse_next_capture(cudaError_t error);
void refuse_next_instantiation(cudaError_t error);
void sync_block();
// Returns the value of a lane of the warp: `distance` further on, or the own value beyond the end; the one whose number
// differs in the bits of `mask`; or `lane`.
uint64_t shuffle_down(uint64_t value, unsigned distance);
uint64_t shuffle_xor(uint64_t value, unsigned mask);
uint64_t shuffle(uint64_t value, unsigned lane);

}  // namespace emulation

extern dim3 threadIdx, blockIdx, blockDim, gridDim;  // of the running fiber

inline void __syncthreads() { emulation::sync_block(); }

inline void __threadfence() {}
// Blocks run one after another, in ascending or descending order.
inline unsigned atomicInc(unsigned* at, unsigned limit) {
  const unsigned before = *at;
  *at = before >= limit ? 0 : before + 1;
  return before;
}

namespace emulation {

template <class T, class Exchange>
T exchanged(T value, Exchange exchange) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(bits);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace emulation

template <class T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  return emulation::exchanged(value, [&](uint64_t bits) { return emulation::shuffle_down(bits, distance); });
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::exchanged(
      value, [&](uint64_t bits) { return emulation::shuffle_xor(bits, static_cast<unsigned>(mask)); });
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulation::exchanged(value,
                              [&](uint64_t bits) { return emulation::shuffle(bits, static_cast<unsigned>(lane)); });
}

namespace emulation {

template <class... Parameters>
void call_kernel(void (*kernel)(), const void* arguments) {
  std::apply(reinterpret_cast<void (*)(Parameters...)>(kernel),
             *static_cast<const std::tuple<Parameters...>*>(arguments));
}

}  // namespace emulation

// Arguments are evaluated when the kernel is issued, as on the device.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...));
  const std::tuple<Parameters...> held(arguments...);
  emulation::issue_kernel(
      *config, {reinterpret_cast<void (*)()>(kernel), emulation::call_kernel<Parameters...>, &held, sizeof held});
  return cudaSuccess;
}
