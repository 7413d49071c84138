// Reports which processes hold a device's memory; used only for an error message.
#pragma once

#include <string>

namespace plimsoll::cuda {

// "process 21422 (python3) holds 24136.3 MiB, process 3 (Xorg) 12.0 MiB": the largest first, excluding this process.
// For the current device, according to the driver's management library, which is loaded on demand; "" if it is missing,
// or reports nothing.
std::string memory_users();

}  // namespace plimsoll::cuda
