// Counts with their noun, for messages.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::train {

// "1 sample", "12 samples".
inline std::string counted(int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace plimsoll::train
