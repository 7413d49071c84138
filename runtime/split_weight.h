// A weight that tasks read in bf16 is stored in two halves, which together are its value in f32:
//
//   weight     bf16   the value, rounded to the nearest; what products read
//   its low    i16    what rounding took away, or added: value's bits = (bits of the bf16 << 16) + low
//
// So no copy in bf16 is made, and the value still has all 24 significant bits: only the update reads both halves. The
// idea is from Kalamkar et al., "Optimizing Deep Learning Recommender Systems Training on CPU Cluster Architectures",
// 2020 (Split-SGD-BF16), which cuts the value off instead of rounding it. A value halfway between two bf16 numbers is
// rounded away from zero, where a cast rounds it to the even one: otherwise `low` would need a 17th bit.
#pragma once

#include "runtime/reduced_state.h"

namespace plimsoll::split {

// NaN is made one whose upper half is NaN, too.
PLIMSOLL_HOST_AND_DEVICE inline uint32_t bits_to_split(float value) {
  const uint32_t bits = reduced::bits_of(value);
  return (bits & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FC00000U : bits;
}
PLIMSOLL_HOST_AND_DEVICE inline uint16_t high_of(uint32_t bits) {
  return static_cast<uint16_t>((bits + 0x8000U) >> 16);
}
PLIMSOLL_HOST_AND_DEVICE inline int16_t low_of(uint32_t bits) { return static_cast<int16_t>(bits & 0xFFFFU); }
PLIMSOLL_HOST_AND_DEVICE inline float joined(uint16_t high, int16_t low) {
  return reduced::float_of((static_cast<uint32_t>(high) << 16) + static_cast<uint32_t>(static_cast<int32_t>(low)));
}

}  // namespace plimsoll::split
