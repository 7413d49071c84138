// The element type f16 (IEEE 754 binary16). Arithmetic happens in float. The conversions are in integer arithmetic: the
// same bits on every processor.
#pragma once

#include <bit>
#include <cstdint>

namespace plimsoll {

// Values from here on round to infinity: half a unit above the largest finite f16, 65504.
inline constexpr float kF16Overflow = 65520;

constexpr float widened_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 0x1f, digits = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | digits << 13);  // infinity, NaN
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | digits << 13);
  const float tiny = static_cast<float>(digits) * 0x1p-24f;  // subnormal or zero: exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(tiny));
}

// Rounds to nearest, ties to even; NaN stays NaN.
constexpr uint16_t narrowed_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const auto with_sign = [&](uint32_t rest) { return static_cast<uint16_t>(sign | rest); };
  if (magnitude > 0x7f800000) return with_sign(0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= std::bit_cast<uint32_t>(kF16Overflow)) return with_sign(0x7c00);
  if (magnitude >= 0x38800000) {  // 2^-14, the smallest normal number
    const uint32_t rebiased = magnitude - (uint32_t{112} << 23);
    return with_sign((rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13);
  }
  // A multiple of 2^-24. Adding 0.5 makes a float whose last digit is 2^-24, so the addition rounds as required.
  const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
  return with_sign(std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(0.5f));
}

// An element in memory, as Bf16 is one.
struct F16 {
  uint16_t bits;

  F16() = default;
  constexpr F16(float value) : bits(narrowed_f16(value)) {}
  constexpr F16& operator=(float value) {
    bits = narrowed_f16(value);
    return *this;
  }
  constexpr operator float() const { return widened_f16(bits); }
};

static_assert(sizeof(F16) == 2);

}  // namespace plimsoll
