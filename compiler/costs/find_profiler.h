// Where a profiler lies: beside the program that runs (a build directory), or in libexec/plimsoll (an installation).
#pragma once

#include <string>

namespace plimsoll {

// The path of plimsoll-profile-TARGET. If there is none, the path where a build would put it.
std::string find_profiler(const std::string& target);

}  // namespace plimsoll
