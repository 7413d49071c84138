#pragma once

#include <chrono>

namespace plimsoll::profile {

// Seconds of a monotonic clock with an arbitrary origin.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace plimsoll::profile
