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

const State* Archive::fastest(int64_t limit) const {
  const auto after = by_peak_.upper_bound(limit);
  return after == by_peak_.begin() ? nullptr : &std::prev(after)->second;
}

std::vector<State> Archive::take() {
  std::vector<State> states;
  for (auto& [peak, state] : by_peak_) {
    while (!states.empty() && peak - states.back().outcome.peak_bytes < peak / 256 && states.size() > 1) states.pop_back();
    states.push_back(std::move(state));
  }
  by_peak_.clear();
  return states;
}

}  // namespace plimsoll::search
