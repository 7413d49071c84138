// Which step of a plan has surely finished when another begins: by the order within a stream, by waits, and through
// other steps. One vector clock per step; exact, and linear in steps and waits.
#pragma once

#include <array>

#include "compiler/ir/plan.h"

namespace plimsoll {

inline constexpr size_t kStreamCount = 4;

// One step per stream, or none (invalid).
using PerStream = std::array<StepId, kStreamCount>;

class HappensBefore {
 public:
  // Before: waits name earlier steps.
  explicit HappensBefore(const Plan& plan);

  // Step a happens before step b. No step happens before itself.
  bool operator()(StepId a, StepId b) const {
    return position_[a] <= seen_[b][static_cast<size_t>(stream_[a])];
  }

 private:
  // A step's place in its stream, from 1.
  IdVector<StepId, int32_t> position_;
  IdVector<StepId, StreamKind> stream_;
  // How many steps of each stream happen before this one: always the first so many.
  IdVector<StepId, std::array<int32_t, kStreamCount>> seen_;
};

}  // namespace plimsoll
