#include "passes/search/archive.h"

namespace plimsoll::search {

void Archive::add(const State& state) {
  const int64_t peak = state.outcome.peak_bytes;
  const auto after = by_peak_.upper_bound(peak);
  if (after != by_peak_.begin() && std::prev(after)->second.outcome.seconds <= state.outcome.seconds) return;
  auto next = by_peak_.lower_bound(peak);
  while (next != by_peak_.end() && next->second.outcome.seconds >= state.outcome.seconds) next = by_peak_.erase(next);
  by_peak_.emplace(peak, state);
}

std::optional<State> Archive::fastest(int64_t limit) const {
  const auto after = by_peak_.upper_bound(limit);
  return after == by_peak_.begin() ? std::nullopt : std::optional(std::prev(after)->second);
}

std::optional<State> Archive::tightest() const {
  return by_peak_.empty() ? std::nullopt : std::optional(by_peak_.begin()->second);
}

std::vector<State> Archive::between(int64_t low, int64_t high, size_t most) const {
  std::vector<State> states;
  int64_t bucket = 0;  // smallest peak bytes in the bucket
  for (auto each = by_peak_.upper_bound(low); each != by_peak_.end() && each->first <= high; ++each) {
    const auto& [peak, state] = *each;
    if (states.size() > 1 && peak - bucket < bucket / 256) {
      states.back() = state;  // larger and faster than the previous one
    } else if (states.size() < most) {
      states.push_back(state);
      bucket = peak;
    } else {
      break;
    }
  }
  return states;
}

}  // namespace plimsoll::search
