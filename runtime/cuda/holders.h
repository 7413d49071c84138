// Who holds the memory of a device that is short of it: for an error message, and for nothing else.
#pragma once

#include <string>

namespace plimsoll::cuda {

// "process 21422 (python3) holds 24136.3 MiB, process 3 (Xorg) 12.0 MiB": the largest first, without this process. Of the current device, as
// the driver's management library says it, which is looked for when somebody asks; "" where it is not there, or knows of nobody.
std::string who_holds_memory();

}  // namespace plimsoll::cuda
