#include "compiler/check/happens_before.h"

#include <algorithm>

namespace plimsoll {

HappensBefore::HappensBefore(const Plan& plan) {
  PerStream latest = {};
  std::array<int32_t, kStreamCount> issued = {};
  steps_.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    const size_t stream = static_cast<size_t>(step.stream);
    Clock clock{.position = ++issued[stream], .stream = step.stream};
    const auto join = [&](StepId id) {
      const Clock& earlier = steps_[id];
      for (size_t s = 0; s < kStreamCount; ++s) clock.seen[s] = std::max(clock.seen[s], earlier.seen[s]);
      int32_t& own = clock.seen[static_cast<size_t>(earlier.stream)];
      own = std::max(own, earlier.position);
    };
    if (latest[stream].valid()) join(latest[stream]);
    for (StepId wait : step.waits) join(wait);
    latest[stream] = steps_.push_back(clock);
  }
}

}  // namespace plimsoll
