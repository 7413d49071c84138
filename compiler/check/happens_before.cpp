#include "compiler/check/happens_before.h"

#include <algorithm>

namespace plimsoll {

HappensBefore::HappensBefore(const Plan& plan) {
  PerStream latest = {};
  std::array<int32_t, kStreamCount> issued = {};
  for (const Step& step : plan.steps) {
    const size_t stream = static_cast<size_t>(step.stream);
    std::array<int32_t, kStreamCount> seen = {};
    const auto join = [&](StepId earlier) {
      for (size_t s = 0; s < kStreamCount; ++s) seen[s] = std::max(seen[s], seen_[earlier][s]);
      int32_t& own = seen[static_cast<size_t>(stream_[earlier])];
      own = std::max(own, position_[earlier]);
    };
    if (latest[stream].valid()) join(latest[stream]);
    for (StepId wait : step.waits) join(wait);
    position_.push_back(++issued[stream]);
    stream_.push_back(step.stream);
    latest[stream] = seen_.push_back(seen);
  }
}

}  // namespace plimsoll
