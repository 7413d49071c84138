#include "runtime/cuda/cudnn/device.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

namespace plimsoll::cudnn {
namespace {

// One described device per process, set once at start-up.
Descriptor& described() {
  static Descriptor properties;
  return properties;
}

// 900: capability 9.0. cuDNN accepts no description without it.
int capability_in(const std::string& json) {
  const std::string key = "\"deviceVer\"";
  const size_t at = json.find(key);
  if (at == std::string::npos) return 0;
  const size_t digits = json.find_first_of("0123456789", at + key.size());
  return digits == std::string::npos ? 0 : std::atoi(json.c_str() + digits);
}

int& described_capability() {
  static int capability = 0;
  return capability;
}

int32_t device_at_hand() {
  int32_t device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess)
    throw KernelError(std::string("there is no CUDA device: ") + cudaGetErrorString(error));
  return device;
}

std::string version_text(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// The loader may find an older library than the headers belong to, which would reject attributes with only a number as
// explanation.
void check_library() {
  if (const std::string why = missing_library(true); !why.empty()) throw KernelError("cuDNN is not complete: " + why);
  const size_t loaded = cudnnGetVersion();
  if (loaded < 90800)
    throw KernelError("the cuDNN that is loaded is " + version_text(loaded) + "; 9.8 or later is needed (built with " +
                      version_text(CUDNN_VERSION) +
                      "): LD_LIBRARY_PATH, or a Python environment's own copy, may name an older one first");
}

Descriptor properties_of_device() {
  const int32_t device = device_at_hand();
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, device).finalize("the properties of the device");
  return properties;
}

}  // namespace

void use_described_device(const std::string& json) {
  check_library();
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json).finalize("the described device");
  described() = std::move(properties);
  described_capability() = capability_in(json);
}

bool device_multiplies(DataType narrow) {
  static const int capability = [] {
    if (device_is_described()) return described_capability() / 100;
    int major = 0;
    if (const cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_at_hand());
        error != cudaSuccess)
      throw KernelError(std::string("the device's capability: ") + cudaGetErrorString(error));
    return major;
  }();
  return capability >= (narrow == DataType::bf16 ? 8 : 7);
}

bool device_is_described() { return static_cast<bool>(described()); }

const Descriptor& device_properties() { return described(); }

std::string description_of_device() {
  return properties_of_device().get_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
}

// Never destroyed: at process exit, libraries that cuDNN has loaded may already be gone.
cudnnHandle_t handle() {
  static const cudnnHandle_t handle = [] {
    if (device_is_described()) throw KernelError("a described device runs nothing");
    device_at_hand();
    check_library();
    cudnnHandle_t made = nullptr;
    check(cudnnCreate(&made), "cannot start");
    return made;
  }();
  return handle;
}

}  // namespace plimsoll::cudnn
