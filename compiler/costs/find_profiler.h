// Locates a profiler: next to the running program (a build directory), or in libexec/plimsoll (an installation).
#pragma once

#include <string>

namespace plimsoll {

// The path of plimsoll-profile-TARGET. If it does not exist, the path in a build directory.
std::string find_profiler(const std::string& target);

}  // namespace plimsoll
