#include "passes/place/last_solutions.h"

#include <algorithm>
#include <utility>

namespace plimsoll::placement {
namespace {

constexpr size_t kKept = 8;
constexpr size_t kMost = 10'000;  // buffers of a problem that is kept

}  // namespace

Solution LastSolutions::solve(const Problem& problem, const Effort& effort) {
  if (problem.buffers.size() > kMost) return placement::solve(problem, effort);
  Times buffers;
  buffers.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) buffers.push_back({buffer.lower, buffer.upper, buffer.size});
  const auto find = [&] {
    return std::ranges::find_if(
        last_, [&](const Solved& solved) { return solved.effort == effort && solved.buffers == buffers; });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = find(); found != last_.end()) return found->solution;
  }
  Solution solution = placement::solve(problem, effort);
  // A sufficient height was found soon: to solve the problem again takes little longer than to compare it.
  if (solution.height <= std::max(lower_bound(problem), effort.capacity)) return solution;
  const std::lock_guard lock(mutex_);
  if (find() != last_.end()) return solution;  // another thread was faster
  if (last_.size() == kKept) last_.pop_front();
  last_.push_back({std::move(buffers), effort, solution});
  return solution;
}

}  // namespace plimsoll::placement
