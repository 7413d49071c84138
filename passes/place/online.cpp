#include "passes/place/online.h"

#include "passes/pool/two_ended_pool.h"

namespace plimsoll::placement {

Solution place_in_turn(const Problem& problem) {
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  pool::ListPool pool;
  for (const auto& [time, begins, i] : events_of(problem)) {
    if (begins) solution.offsets[i] = *pool.allocate(problem.buffers[i].size);
    else pool.release(solution.offsets[i], problem.buffers[i].size);
  }
  solution.height = pool.high_water();
  return solution;
}

Solution place_by_mobility(const Problem& problem, const std::vector<bool>& soon) {
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  pool::TwoEndedPool pool;
  for (const auto& [time, begins, i] : events_of(problem)) {
    const pool::End end = soon[i] ? pool::End::low : pool::End::high;
    if (begins) solution.offsets[i] = *pool.allocate(problem.buffers[i].size, end);
    else pool.release(solution.offsets[i], problem.buffers[i].size, end);
  }
  solution.height = pool.high_water();
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (!soon[i] && problem.buffers[i].size > 0)
      solution.offsets[i] = solution.height - solution.offsets[i] - problem.buffers[i].size;
  return solution;
}

}  // namespace plimsoll::placement
