// The device that engines are listed for: the one at hand, or one that a text describes, on a machine without it.
// cuDNN 9.11 and later list engines with exact workspaces for either.
#pragma once

#include <string>

#include "runtime/cuda/cudnn/descriptor.h"

namespace plimsoll::cudnn {

// From here on, in this process, engines are those of the described device; nothing can be run. `json` is cuDNN's own
// form, as description_of_device() writes it. Call it before anything else of cuDNN. Throws KernelError: what is missing.
void use_described_device(const std::string& json);
bool device_is_described();

// Of the device that engines are listed for. Throws KernelError where there is no device, and none was described.
const Descriptor& device_properties();

// What cuDNN knows of the device at hand, for use_described_device() elsewhere.
std::string description_of_device();

// Made at the first call, for the device at hand.
cudnnHandle_t handle();

}  // namespace plimsoll::cudnn
