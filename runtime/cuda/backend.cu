// The device, its memory and the host's pinned memory. One device per process, selected by CUDA_VISIBLE_DEVICES.
#include "runtime/backend.h"

#include <cublasLt.h>
#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/cuda/device/changing.h"
#include "runtime/cuda/device/check.h"
#include "runtime/cuda/device/handles.h"
#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/device/memory_users.h"

namespace plimsoll::cuda {

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears the error for later calls
  throw backend::DeviceError(std::string(call) + ": " + cudaGetErrorString(result) + " (" + std::to_string(result) +
                             ")");
}

cudaLaunchConfig_t launch_config(const char* name, int64_t blocks, int threads, const RunContext& context) {
  if (blocks > 0x7FFFFFFF)
    throw KernelError(std::string(name) + ": " + std::to_string(blocks) + " blocks are more than a grid has");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream_of(context);
  return config;
}

namespace {

__device__ Changing changing_now;  // part of the program's image: no allocation

__global__ void watch_loss_kernel(Changing* changing, const float* loss) {
  if (threadIdx.x == 0 && changing->guarded && !isfinite(*loss)) changing->discard = true;
}

// An empty kernel that tells whether the program has an image for the device.
__global__ void probe() {}

std::string toolkit_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string mebibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// Reports driver and runtime versions, the first question if something does not start.
void find_device() {
  int driver = 0, runtime = 0, devices = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (driver == 0)
    throw backend::DeviceError(
        "there is no NVIDIA driver; this trainer is for a GPU: compile the model with --target host for this machine");
  if (found == cudaErrorInsufficientDriver)
    throw backend::DeviceError("the driver is of CUDA " + toolkit_version(driver) +
                               ", this trainer was built with CUDA " + toolkit_version(runtime) +
                               ": update the driver, or build with an older toolkit");
  if (found == cudaErrorNoDevice || (found == cudaSuccess && devices == 0))
    throw backend::DeviceError("there is no GPU (driver of CUDA " + toolkit_version(driver) +
                               "); CUDA_VISIBLE_DEVICES may hide one");
  check(found, "cudaGetDeviceCount");
}

void check_image() {
  cudaFuncAttributes attributes;
  const cudaError_t result = cudaFuncGetAttributes(&attributes, probe);
  if (result == cudaSuccess) return;
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  const std::string capability = std::to_string(properties.major) + std::to_string(properties.minor);
  if (result == cudaErrorNoKernelImageForDevice)
    throw backend::DeviceError("this trainer was not built for " + std::string(properties.name) +
                               ": configure it with -DCMAKE_CUDA_ARCHITECTURES=" + capability);
  check(result, "cudaFuncGetAttributes");
}

}  // namespace

Changing* changing_on_device() {
  void* address = nullptr;
  check(cudaGetSymbolAddress(&address, changing_now), "cudaGetSymbolAddress");
  return static_cast<Changing*>(address);
}

void watch_loss(cudaStream_t stream, Changing* changing, const float* loss) {
  launch("watch over the loss", watch_loss_kernel, 1, 32, RunContext{.stream = stream}, changing, loss);
}

}  // namespace plimsoll::cuda

namespace plimsoll::backend {

using cuda::check;

void settle_environment(char**) {}

void start(int64_t) {
  cuda::find_device();
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // creates the context
  cuda::check_image();
}

// Querying free memory before allocating it would leave time for other processes, so it is allocated at once. If that
// fails on a shared device, the error reports the memory that was free and the processes that hold the rest.
Arena::Arena(int64_t bytes) : bytes_(bytes), allocated_(bytes) {
  void* address = nullptr;
  const cudaError_t result = cudaMalloc(&address, static_cast<size_t>(bytes));
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const std::string holders = cuda::memory_users();
    throw NoMemory("the planned arena is " + cuda::mebibytes(static_cast<size_t>(bytes)) + " (" +
                   std::to_string(bytes) + " bytes); " + device_name() + " has " + cuda::mebibytes(free) + " free of " +
                   cuda::mebibytes(total) + (holders.empty() ? "" : "; " + holders) +
                   ": compile the model with a smaller --budget, or end what holds the rest");
  }
  check(result, "cudaMalloc of the arena");
  data_ = static_cast<std::byte*>(address);
  // The rounds' streams do not wait for the default stream, so it is waited for here.
  cudaError_t zeroed = cudaMemset(data_, 0, static_cast<size_t>(bytes));
  if (zeroed == cudaSuccess) zeroed = cudaStreamSynchronize(nullptr);
  if (zeroed == cudaSuccess) return;
  cudaFree(data_);
  check(zeroed, "cudaMemset of the arena");
}

Arena::~Arena() { cudaFree(data_); }

namespace {

// Pinned memory need not begin with zeros. One thread takes seconds for tens of GB, so several share them.
void fill_with_zeros(std::byte* data, int64_t bytes) {
  constexpr int64_t kLeast = int64_t{64} << 20, kThreadsAtMost = 16;
  const int64_t usable = std::max<int64_t>(1, static_cast<int64_t>(std::thread::hardware_concurrency()));
  const int64_t shares = std::clamp<int64_t>(bytes / kLeast, 1, std::min(usable, kThreadsAtMost));
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < shares; ++i)
    others.emplace_back([=] {
      const int64_t begin = bytes * i / shares;
      std::memset(data + begin, 0, static_cast<size_t>(bytes * (i + 1) / shares - begin));
    });
  std::memset(data, 0, static_cast<size_t>(bytes / shares));
}

}  // namespace

struct HostPool::Memory {
  cuda::PinnedMemory pinned;

  explicit Memory(int64_t bytes) : pinned(bytes, "cudaHostAlloc of the host pool") {
    if (!pinned)
      throw DeviceError(
          "the host pool is " + cuda::mebibytes(static_cast<size_t>(bytes)) + " (" + std::to_string(bytes) +
          " bytes) of pinned memory, which this machine does not give: see `ulimit -l`, free memory, or compile "
          "the model with a smaller --host-budget or a larger --budget");
    fill_with_zeros(pinned.data(), bytes);
  }
};

HostPool::HostPool(int64_t bytes, const std::string& directory) {
  if (!directory.empty())
    throw HostPoolError("the host pool of a trainer on a GPU is pinned memory: leave --spill out");
  memory_ = std::make_unique<Memory>(bytes);
}

HostPool::~HostPool() = default;

std::byte* HostPool::data() const { return memory_->pinned.data(); }

void HostPool::store(int64_t offset, const std::byte* from, int64_t bytes) const {
  check(cudaMemcpy(data() + offset, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost),
        "cudaMemcpy of an offload");
}

void HostPool::fetch(int64_t offset, std::byte* to, int64_t bytes) const {
  check(cudaMemcpy(to, data() + offset, static_cast<size_t>(bytes), cudaMemcpyHostToDevice),
        "cudaMemcpy of a prefetch");
}

StagingBuffer::StagingBuffer(int64_t bytes) {
  void* address = nullptr;
  check(cudaHostAlloc(&address, static_cast<size_t>(bytes), cudaHostAllocDefault), "cudaHostAlloc of staged samples");
  data_ = static_cast<std::byte*>(address);
}

StagingBuffer::~StagingBuffer() {
  if (data_) cudaFreeHost(data_);
}

Heeds heeds() { return {.loss_scale = true, .discard = true, .times = true}; }

std::optional<DeviceMemory> device_memory() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return DeviceMemory{static_cast<int64_t>(total), static_cast<int64_t>(free)};
}

void copy_in(void* stream, std::byte* to, const std::byte* from, int64_t bytes) {
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, on),
        "cudaMemcpyAsync to the device");
  check(cudaStreamSynchronize(on), "cudaStreamSynchronize");
}

void copy_out(void* stream, std::byte* to, const std::byte* from, int64_t bytes) {
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, on),
        "cudaMemcpyAsync from the device");
  check(cudaStreamSynchronize(on), "cudaStreamSynchronize");
}

void finish(void* stream) { check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "cudaStreamSynchronize"); }

// Without a device, a plan is made for an unspecified GPU.
std::string device_name() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
    cudaGetLastError();
    return "no GPU here";
  }
  return properties.name;
}

std::string library_version() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const size_t dnn = cudnnGetVersion(), blas = cublasLtGetVersion();
  const auto three = [](size_t version) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  };
  return "cublaslt " + three(blas) + ", cuda " + cuda::toolkit_version(runtime) + ", cudnn " + three(dnn);
}

}  // namespace plimsoll::backend
