#include "runtime/cuda/cudnn/device.h"

#include <cuda_runtime_api.h>

namespace plimsoll::cudnn {
namespace {

// One device per process: described once, at its start, or the current one.
Descriptor& described() {
  static Descriptor properties;
  return properties;
}

Descriptor properties_of_device() {
  int32_t device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess)
    throw KernelError(std::string("there is no CUDA device: ") + cudaGetErrorString(error));
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, device).finalize("the properties of the device");
  return properties;
}

}  // namespace

void use_described_device(const std::string& json) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json).finalize("the described device");
  described() = std::move(properties);
}

bool device_is_described() { return static_cast<bool>(described()); }

const Descriptor& device_properties() {
  if (device_is_described()) return described();
  static const Descriptor at_hand = properties_of_device();
  return at_hand;
}

std::string description_of_device() {
  return properties_of_device().get_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
}

cudnnHandle_t handle() {
  struct Handle {
    Handle() {
      if (device_is_described()) throw KernelError("a described device runs nothing");
      check(cudnnCreate(&raw), "cannot start");
    }
    ~Handle() { cudnnDestroy(raw); }
    cudnnHandle_t raw = nullptr;
  };
  static const Handle handle;
  return handle.raw;
}

}  // namespace plimsoll::cudnn
