// Kernels for tensors of any element type: code that is compiled for each, and the number that an absent operand stands for.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// body(T{}), where T is what the elements are.
template <class Body>
decltype(auto) by_type(DataType type, Body body) {
  switch (type) {
    case DataType::f32: break;
    case DataType::i32: return body(int32_t{});
    case DataType::i64: return body(int64_t{});
    case DataType::u8: return body(uint8_t{});
  }
  return body(float{});
}

// body(T{}) for elements that are moved as they are: T is as wide.
template <class Body>
decltype(auto) by_width(DataType type, Body body) {
  switch (bytes_of(type)) {
    case 1: return body(uint8_t{});
    case 8: return body(uint64_t{});
    default: return body(uint32_t{});
  }
}

// An attribute is finite: what no float holds is infinity.
inline float float_of(double value) {
  using Limits = std::numeric_limits<float>;
  if (std::fabs(value) <= static_cast<double>(Limits::max())) return static_cast<float>(value);
  return value > 0 ? Limits::infinity() : -Limits::infinity();
}

template <class T>
T number_as(double value) {
  if constexpr (std::is_same_v<T, float>) return float_of(value);
  else return static_cast<T>(value);
}

}  // namespace plimsoll
