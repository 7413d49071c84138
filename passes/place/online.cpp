#include "passes/place/online.h"

#include "passes/pool/two_ended_pool.h"

namespace plimsoll::placement {

Solution place_in_turn(const Problem& problem, const std::vector<bool>& low) {
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  pool::TwoEndedPool pool;
  for (const auto& [time, begins, i] : events_of(problem)) {
    const pool::End end = low[i] ? pool::End::low : pool::End::high;
    if (begins) solution.offsets[i] = *pool.allocate(problem.buffers[i].size, end);
    else pool.release(solution.offsets[i], problem.buffers[i].size, end);
  }
  solution.height = pool.high_water();
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (!low[i] && problem.buffers[i].size > 0)
      solution.offsets[i] = solution.height - solution.offsets[i] - problem.buffers[i].size;
  return solution;
}

}  // namespace plimsoll::placement
