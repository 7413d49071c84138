// Counts in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// "1 tensor", "1,204 tensors".
std::string counted(int64_t count, std::string_view what);
// "is" for 1, else "are".
std::string_view is_or_are(int64_t count);

}  // namespace plimsoll
