#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// A quoted JSON string. Names may contain any bytes: invalid UTF-8 is replaced, not rejected.
std::string json_text(std::string_view text);

}  // namespace plimsoll
