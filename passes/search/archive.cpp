#include "passes/search/archive.h"

#include <algorithm>

namespace plimsoll::search {

void Archive::add(const State& state) {
  const int64_t peak = state.outcome.peak_bytes;
  const auto after = by_peak_.upper_bound(peak);
  if (after != by_peak_.begin() && std::prev(after)->second.outcome.seconds <= state.outcome.seconds) return;
  auto next = by_peak_.lower_bound(peak);
  while (next != by_peak_.end() && next->second.outcome.seconds >= state.outcome.seconds) next = by_peak_.erase(next);
  by_peak_.emplace(peak, state);
}

const State* Archive::fastest(int64_t limit) const {
  const auto after = by_peak_.upper_bound(limit);
  return after == by_peak_.begin() ? nullptr : &std::prev(after)->second;
}

const State* Archive::tightest() const { return by_peak_.empty() ? nullptr : &by_peak_.begin()->second; }

std::vector<State> Archive::take() {
  std::vector<State> states = between(-1, kNoLimit);
  std::reverse(states.begin(), states.end());
  by_peak_.clear();
  return states;
}

std::vector<State> Archive::between(int64_t low, int64_t high) const {
  std::vector<State> states;
  const std::vector<const State*> kept = apart(low, high);
  for (auto each = kept.rbegin(); each != kept.rend(); ++each) states.push_back(**each);
  return states;
}

std::vector<State> Archive::nearest_above(int64_t low, int64_t high, size_t most) const {
  std::vector<State> states;
  for (const State* state : apart(low, high, most)) states.push_back(*state);
  return states;
}

std::vector<const State*> Archive::apart(int64_t low, int64_t high, size_t most) const {
  std::vector<const State*> states;
  int64_t bucket = 0;  // smallest peak bytes in the bucket
  for (auto each = by_peak_.upper_bound(low); each != by_peak_.end() && each->first <= high; ++each) {
    const int64_t peak = each->first;
    if (states.size() > 1 && peak - bucket < bucket / 256) {
      states.back() = &each->second;  // larger and faster than the previous one
    } else if (states.size() < most) {
      states.push_back(&each->second);
      bucket = peak;
    } else {
      break;
    }
  }
  return states;
}

}  // namespace plimsoll::search
