// Where kernels of a recorded round read what changes.
#pragma once

#include "runtime/cuda/launch.h"

namespace plimsoll::cuda {

Changing* changing_on_device();

}  // namespace plimsoll::cuda
