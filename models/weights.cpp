#include "models/weights.h"

#include <cmath>

namespace plimsoll {
namespace {

// The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;

inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The sum of the four 16-bit fields of a word.
inline uint64_t field_sum(uint64_t z) {
  constexpr uint64_t even = 0x0000FFFF0000FFFFu;
  const uint64_t pairs = (z & even) + ((z >> 16) & even);
  return (pairs & 0xFFFFFFFFu) + (pairs >> 32);
}

}  // namespace

uint64_t weight_key(uint64_t seed, std::string_view tensor) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : tensor) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix(hash + mix(seed + kStep));
}

void fill_normal(std::span<float> out, uint64_t key, int64_t first, double deviation) {
  constexpr int64_t mean = 8 * 65535 / 2;
  const float scale = static_cast<float>(deviation / std::sqrt(8.0 * (65536.0 * 65536.0 - 1.0) / 12.0));
  uint64_t state = key + 2 * static_cast<uint64_t>(first) * kStep;
  for (float& value : out) {
    const uint64_t sum = field_sum(mix(state)) + field_sum(mix(state + kStep));
    value = static_cast<float>(static_cast<int64_t>(sum) - mean) * scale;
    state += 2 * kStep;
  }
}

}  // namespace plimsoll
