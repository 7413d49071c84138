#include "passes/place/online.h"

#include <algorithm>
#include <numeric>

#include "passes/pool/two_ended_pool.h"

namespace plimsoll::placement {
namespace {

// Calls begin(i) for each buffer by time, after end(i) for every buffer that ended before.
template <class Begin, class End>
void replay(const Problem& problem, Begin begin, End end) {
  std::vector<size_t> beginning(problem.buffers.size());
  std::iota(beginning.begin(), beginning.end(), size_t{0});
  std::vector<size_t> ending = beginning;
  std::stable_sort(beginning.begin(), beginning.end(),
                   [&](size_t a, size_t b) { return problem.buffers[a].lower < problem.buffers[b].lower; });
  std::stable_sort(ending.begin(), ending.end(),
                   [&](size_t a, size_t b) { return problem.buffers[a].upper < problem.buffers[b].upper; });
  size_t ended = 0;
  for (const size_t i : beginning) {
    while (problem.buffers[ending[ended]].upper <= problem.buffers[i].lower) end(ending[ended++]);
    begin(i);
  }
}

}  // namespace

Solution place_in_turn(const Problem& problem) {
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  pool::ListPool pool;
  replay(
      problem, [&](size_t i) { solution.offsets[i] = *pool.allocate(problem.buffers[i].size); },
      [&](size_t i) { pool.release(solution.offsets[i], problem.buffers[i].size); });
  solution.height = pool.high_water();
  return solution;
}

Solution place_by_mobility(const Problem& problem, const std::vector<bool>& soon) {
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  pool::TwoEndedPool pool;
  const auto end_of = [&](size_t i) { return soon[i] ? pool::End::low : pool::End::high; };
  replay(
      problem, [&](size_t i) { solution.offsets[i] = *pool.allocate(problem.buffers[i].size, end_of(i)); },
      [&](size_t i) { pool.release(solution.offsets[i], problem.buffers[i].size, end_of(i)); });
  solution.height = pool.high_water();
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (!soon[i] && problem.buffers[i].size > 0)
      solution.offsets[i] = solution.height - solution.offsets[i] - problem.buffers[i].size;
  return solution;
}

}  // namespace plimsoll::placement
