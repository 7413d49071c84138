// Kernels for tensors of any element type: instantiates code for each type; also the number that represents an absent
// operand.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// Calls body(T{}), where T is the element type.
template <class Body>
decltype(auto) by_type(DataType type, Body body) {
  switch (type) {
    case DataType::f32: break;
    case DataType::bf16:
    case DataType::f16:
    case DataType::q8:
    case DataType::uq8: case DataType::i16: break;  // bf16 and f16 are widened
    case DataType::i32: return body(int32_t{});
    case DataType::i64: return body(int64_t{});
    case DataType::u8: return body(uint8_t{});
  }
  return body(float{});
}

// Calls body(T{}) for elements that are only moved: T has the same width.
template <class Body>
decltype(auto) by_width(DataType type, Body body) {
  switch (bytes_of(type)) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 8: return body(uint64_t{});
    default: return body(uint32_t{});
  }
}

// Attributes are finite: a value beyond the range of float means infinity.
inline float float_of(double value) {
  using Limits = std::numeric_limits<float>;
  if (std::fabs(value) <= static_cast<double>(Limits::max())) return static_cast<float>(value);
  return value > 0 ? Limits::infinity() : -Limits::infinity();
}

template <class T>
T number_as(double value) {
  if constexpr (std::is_convertible_v<float, T> && !std::is_integral_v<T>) return float_of(value);  // float, Bf16, F16
  else return static_cast<T>(value);
}

}  // namespace plimsoll
