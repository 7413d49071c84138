// The element types of weights in files: f16 against the definition of IEEE 754, and conversion in place.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/attrs/file_type.h"

namespace plimsoll::test {
namespace {

// (-1)^s · 2^(e - 25) · (1024 + d), or 2^-24 · d if e is 0.
float f16_by_definition(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, digits = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 0x1f) return digits ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(sign * INFINITY);
  return static_cast<float>(sign * (exponent ? std::ldexp(1024 + digits, exponent - 25) : std::ldexp(digits, -24)));
}

}  // namespace

TEST_CASE("every f16 is widened exactly and narrowed to itself") {
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = widened_f16(bits), expected = f16_by_definition(bits);
    if (std::isnan(expected)) {
      CHECK(std::isnan(value));
      CHECK(std::isnan(widened_f16(narrowed_f16(value))));
      continue;
    }
    if (std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(expected) || narrowed_f16(value) != bits)
      FAIL("f16 " << i << " is " << value << ", and back " << narrowed_f16(value));
  }
}

TEST_CASE("numbers between two f16 go to the nearest, and ties to the even one") {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {  // all finite positive numbers but the largest
    const float low = widened_f16(bits), high = widened_f16(static_cast<uint16_t>(bits + 1)), middle = (low + high) / 2;
    const auto even = static_cast<uint16_t>(bits + (bits & 1)), next = static_cast<uint16_t>(bits + 1);
    const bool right = narrowed_f16(middle) == even && narrowed_f16(std::nextafter(middle, low)) == bits &&
                       narrowed_f16(std::nextafter(middle, high)) == next && narrowed_f16(-middle) == (even | 0x8000);
    if (!right) FAIL("between " << low << " and " << high);
  }
  CHECK(narrowed_f16(std::nextafter(kF16Overflow, 0.0f)) == 0x7bff);
  CHECK(narrowed_f16(kF16Overflow) == 0x7c00);
  CHECK(narrowed_f16(-1e30f) == 0xfc00);
  CHECK(narrowed_f16(1e-30f) == 0);
}

TEST_CASE("elements are converted in place") {
  for (const FileType type : {FileType::f16, FileType::bf16}) {
    const std::vector<float> given = {1, -2, 0.1f, 3.14159f, 1e-6f, 65504};
    std::vector<float> values = given;
    const std::span<std::byte> memory = std::as_writable_bytes(std::span(values));
    const std::span<std::byte> half = memory.first(memory.size() / 2);
    narrow(type, memory, half);
    widen(type, half, memory);
    for (size_t i = 0; i < given.size(); ++i) CHECK(values[i] == widened(type, narrowed(type, given[i])));
    CHECK(values[0] == 1);
    CHECK(values[2] != 0.1f);
  }
}

TEST_CASE("only f16 has a largest number below that of f32") {
  const std::vector<float> values = {1, -65520, INFINITY};
  const auto memory = std::as_bytes(std::span(values));
  CHECK(too_large_for(FileType::f16, memory) == -65520);
  CHECK_FALSE(too_large_for(FileType::f16, memory.first(4)));
  CHECK_FALSE(too_large_for(FileType::bf16, memory));
  CHECK_FALSE(too_large_for(FileType::same, memory));
}

}  // namespace plimsoll::test
