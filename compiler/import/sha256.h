#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// SHA-256 (FIPS 180-4) in hexadecimal.
std::string sha256_hex(std::string_view bytes);

}  // namespace plimsoll
