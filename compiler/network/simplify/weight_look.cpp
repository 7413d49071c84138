#include "compiler/network/simplify/weight_look.h"

#include <bit>
#include <cstring>

namespace plimsoll {
namespace {

constexpr size_t kWords = 16;  // at a time

uint64_t word_at(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Two floats at a time. Sets the sign bit of each float whose exponent bits are all set: adding one to the exponent
// overflows into the sign.
uint64_t bad_in(uint64_t word) {
  constexpr uint64_t kExponent = 0x7f800000'7f800000u, kOne = 0x00800000'00800000u, kSign = 0x80000000'80000000u;
  return ((word & kExponent) + kOne) & kSign;
}

}  // namespace

void WeightLook::look_at(float value) {
  if (value == 0) return;
  masks_ = true;
  may_mask_ = value <= -1e4F;
}

void WeightLook::add(std::string_view piece) {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  for (; end - at >= static_cast<std::ptrdiff_t>(kWords * sizeof(uint64_t)); at += kWords * sizeof(uint64_t)) {
    uint64_t any = 0, bad = 0;
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t word = word_at(at + i * sizeof(uint64_t));
      any |= word;
      bad |= bad_in(word);
    }
    if (bad != 0)
      for (size_t i = 0; i < kWords; ++i) bad_ += std::popcount(bad_in(word_at(at + i * sizeof(uint64_t))));
    for (size_t i = 0; any != 0 && may_mask_ && i < kWords * sizeof(uint64_t); i += sizeof(float)) {
      float value;
      std::memcpy(&value, at + i, sizeof value);
      look_at(value);
    }
  }
  for (; end - at >= static_cast<std::ptrdiff_t>(sizeof(float)); at += sizeof(float)) {
    uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    bad_ += std::popcount(bad_in(bits));
    if (may_mask_) look_at(std::bit_cast<float>(bits));
  }
}

}  // namespace plimsoll
