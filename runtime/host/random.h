// Counter-based random numbers: number i of a stream depends on no other number, so any thread can compute any
// element's. SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#pragma once

#include "runtime/kernel.h"

namespace plimsoll::host {

inline constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

inline uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// A kernel's own stream in this round. Elements are counted in logical order, regardless of the layout.
class RandomStream {
 public:
  RandomStream(const RunContext& context, int64_t key) : stream_(context.seed) {
    for (const int64_t part : {context.iteration, context.round, key})
      stream_ = mixed(stream_ + kGolden * (static_cast<uint64_t>(part) + 1));
  }

  // Skips the elements of the preceding ranks: one rank and several draw the same numbers.
  void skip(int64_t elements) { stream_ += kGolden * static_cast<uint64_t>(elements); }

  // The 32 random bits of element i.
  uint32_t at(int64_t i) const {
    return static_cast<uint32_t>(mixed(stream_ + kGolden * static_cast<uint64_t>(i)) >> 32);
  }

 private:
  uint64_t stream_;
};

}  // namespace plimsoll::host
