// A counter-based random generator: each number is a function of seed and counter, independent of order and threads.
#pragma once

#include <cstdint>

namespace plimsoll::train {

// splitmix64's finalizer over both words (Steele, Lea, Flood 2014).
constexpr uint64_t random_bits(uint64_t seed, uint64_t counter) {
  uint64_t z = seed * 0xD1342543DE82EF95u + (counter + 1) * 0x9E3779B97F4A7C15u;
  for (int turn = 0; turn < 2; ++turn) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
  }
  return z;
}

// In [0, 1), with the 53 bits that a double holds.
constexpr double random_unit(uint64_t seed, uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11) * 0x1p-53;
}

}  // namespace plimsoll::train
