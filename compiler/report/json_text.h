#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// A JSON string, in quotes. Names may hold any bytes: what is not UTF-8 is replaced rather than refused.
std::string json_text(std::string_view text);

}  // namespace plimsoll
