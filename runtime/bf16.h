// The element type bf16 on the host: the upper 16 bits of a float. Arithmetic happens in float.
#pragma once

#include <bit>
#include <cstdint>

namespace plimsoll {

constexpr float widened(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Rounds to nearest, ties to even; NaN stays NaN. Without branches, so loops over it are vectorized.
constexpr uint16_t narrowed(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

// An element in memory; converts to and from float, so that one template serves both types.
struct Bf16 {
  uint16_t bits;

  Bf16() = default;  // trivial: an array of it is plain memory
  constexpr Bf16(float value) : bits(narrowed(value)) {}
  constexpr operator float() const { return widened(bits); }
};

static_assert(sizeof(Bf16) == 2);

}  // namespace plimsoll
