// The happens-before relation of a plan: which steps have finished when another begins. It follows from stream order,
// waits and transitivity. One vector clock per step; exact, and linear in steps and waits.
#pragma once

#include <array>

#include "compiler/ir/plan.h"

namespace plimsoll {

inline constexpr size_t kStreamCount = 4;

// One step per stream; invalid: none.
using PerStream = std::array<StepId, kStreamCount>;

class HappensBefore {
 public:
  // Before: waits name earlier steps.
  explicit HappensBefore(const Plan& plan);

  // True if step a happens before step b. No step happens before itself.
  bool operator()(StepId a, StepId b) const {
    return steps_[a].position <= steps_[b].seen[static_cast<size_t>(steps_[a].stream)];
  }

 private:
  struct Clock {
    int32_t position = 0;  // in its stream, counted from 1
    StreamKind stream = StreamKind::compute;
    // How many steps of each stream happen before this one; they are always the first ones.
    std::array<int32_t, kStreamCount> seen = {};
  };

  IdVector<StepId, Clock> steps_;
};

}  // namespace plimsoll
