#include "runtime/train/initial.h"

#include <algorithm>
#include <cmath>

#include "runtime/train/random.h"

namespace plimsoll::train {
namespace {

// The sum of the four 16-bit fields of a word.
constexpr int64_t field_sum(uint64_t word) {
  return static_cast<int64_t>((word & 0xFFFF) + (word >> 16 & 0xFFFF) + (word >> 32 & 0xFFFF) + (word >> 48));
}

}  // namespace

// The sum of eight uniform numbers is nearly normal; its tails end at 4.9 standard deviations. Integers, one
// multiplication and one rounding give the same bits with every compiler and in NumPy; logarithms and cosines would
// differ in the last digit.
void draw_he(std::string_view name, const TensorDesc& desc, uint64_t seed, int64_t begin, std::span<float> weights) {
  uint64_t key = seed;
  for (const char c : name) key = random_bits(key, static_cast<unsigned char>(c));
  const int64_t count = desc.elements(), fan_in = std::max<int64_t>(1, count / std::max<int64_t>(1, desc.dim(0)));
  constexpr int64_t kMean = 8 * 65535 / 2;
  const double variance = 8.0 * (65536.0 * 65536.0 - 1.0) / 12.0;
  const double scale = std::sqrt(2.0 / static_cast<double>(fan_in)) / std::sqrt(variance);
  for (size_t i = 0; i < weights.size(); ++i) {
    const uint64_t at = 2 * (static_cast<uint64_t>(begin) + i);
    const int64_t sum = field_sum(random_bits(key, at)) + field_sum(random_bits(key, at + 1));
    weights[i] = static_cast<float>(static_cast<double>(sum - kMean) * scale);
  }
}

}  // namespace plimsoll::train
