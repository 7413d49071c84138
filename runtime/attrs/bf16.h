// The element type bf16: the upper 16 bits of a float. Arithmetic happens in float.
#pragma once

#include <bit>
#include <cstdint>

namespace plimsoll {

constexpr float widened(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Rounds to nearest, ties to even; NaN stays NaN. Integer arithmetic only: g++ makes a branch of a condition, and does
// not vectorize loops with it.
constexpr uint16_t narrowed(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t nan = static_cast<uint32_t>(static_cast<int32_t>(0x7f800000 - (bits & 0x7fffffff)) >> 31);  // all ones
  return static_cast<uint16_t>(((bits + ((0x7fff + ((bits >> 16) & 1)) & ~nan)) | (nan & 0x400000)) >> 16);
}

// An element in memory; converts to and from float, so that one template serves both types.
struct Bf16 {
  uint16_t bits;

  Bf16() = default;  // trivial: an array of it is plain memory
  constexpr Bf16(float value) : bits(narrowed(value)) {}
  // Not by way of a temporary object, which would keep g++ from vectorizing loops.
  constexpr Bf16& operator=(float value) {
    bits = narrowed(value);
    return *this;
  }
  constexpr operator float() const { return widened(bits); }
};

static_assert(sizeof(Bf16) == 2);

}  // namespace plimsoll
