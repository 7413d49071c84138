// Numbers of things, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// "1 tensor", "1,204 tensors".
std::string counted(int64_t count, std::string_view what);
// "is" of one, "are" of several.
std::string_view is_or_are(int64_t count);

}  // namespace plimsoll
