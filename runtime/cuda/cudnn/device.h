// The device for which engines are listed: the present one, or one described by a text, on a machine without it. cuDNN
// 9.8 and later list engines with exact workspaces for both.
#pragma once

#include <string>

#include "runtime/cuda/cudnn/descriptor.h"

namespace plimsoll::cudnn {

// Afterwards, in this process, engines are those of the described device; nothing can be run. `json` has cuDNN's own
// format, as written by description_of_device(). Call this before anything else of cuDNN. Throws KernelError, which
// says what is missing.
void use_described_device(const std::string& json);
bool device_is_described();

// The properties of the described device. For the present device, graphs and plans have its handle instead, as in every
// program that trains.
const Descriptor& device_properties();

// Whether the device, described or present, multiplies this narrow type on tensor cores: bf16 from Ampere on, f16 from
// Volta on.
bool device_multiplies(DataType narrow);

// cuDNN's description of the present device, for use_described_device() on another machine.
std::string description_of_device();

// Created on the first call, for the present device. Throws KernelError if there is none.
cudnnHandle_t handle();

}  // namespace plimsoll::cudnn
