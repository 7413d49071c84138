// The label of a training sample that is mixed of two (--mixup, --cutmix): both classes, and the share of the second.
// A tensor of them is i32 [N, 3].
#pragma once

#include <cstdint>

namespace plimsoll {

inline constexpr int32_t kWholeShare = int32_t{1} << 30;  // finer than a float near 1, so no share is rounded visibly

struct MixedLabel {
  int32_t own = 0, other = 0;
  int32_t share = 0;  // of `other`, from 0 to kWholeShare; 0: the sample is not mixed

  constexpr double of_other() const { return static_cast<double>(share) / kWholeShare; }
};

inline constexpr int64_t kNumbersOfMixedLabel = 3;
static_assert(sizeof(MixedLabel) == kNumbersOfMixedLabel * sizeof(int32_t));

}  // namespace plimsoll
