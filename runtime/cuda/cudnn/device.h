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

// Of the described device. On the one at hand graphs and plans have its handle instead, as in every program that trains.
const Descriptor& device_properties();

// What cuDNN knows of the device at hand, for use_described_device() elsewhere.
std::string description_of_device();

// Made at the first call, for the device at hand. Throws KernelError where there is none.
cudnnHandle_t handle();

}  // namespace plimsoll::cudnn
