// A short name for a long text, to tell texts apart. It does not protect against someone who wants two to be equal.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// FNV-1a, as 16 hexadecimal digits.
inline std::string digest_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

}  // namespace plimsoll
