// Byte counts on the command line. Base 2 and base 10 are never confused: GiB = 2^30, GB = 10^9.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

// Alignment of every address in an arena (part of the plan.json format).
inline constexpr int64_t kAlignment = 256;

constexpr int64_t align_up(int64_t bytes, int64_t alignment = kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// The argument of `--budget`: "4GiB", "4096MiB", "4G", "1.5GB", "80%", "auto", or a plain number of bytes.
struct SizeSpec {
  enum class Kind { bytes, percent, automatic };
  Kind kind = Kind::automatic;
  int64_t bytes = 0;     // Kind::bytes
  double percent = 0.0;  // Kind::percent, in (0, 100]
  friend bool operator==(const SizeSpec&, const SizeSpec&) = default;
};

// K, M, G, T and KiB… are base 2; KB, MB, GB, TB are base 10. Error: usage, listing the accepted forms.
Result<SizeSpec> parse_size(std::string_view text);
// The same for the value of an option, which errors name.
Result<SizeSpec> parse_size(std::string_view option, std::string_view text);

// "4.00 GiB", "512.0 MiB", "17 B", for display.
std::string format_bytes(int64_t bytes);

// "12.1MiB", valid for --budget: the smallest such number that is at least `bytes`. "17" below 1 KiB.
std::string format_budget(int64_t bytes);

// "4,294,967,296"
std::string format_grouped(int64_t number);

// Overflow-checked product, for dimensions from untrusted files. nullopt: it exceeds 63 bits, or a factor is negative.
std::optional<int64_t> checked_mul(int64_t a, int64_t b);

}  // namespace plimsoll
