#include "tools/bench/placement/greedy.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace plimsoll::placement {

Solution place_greedily(const Problem& problem, Greedy greedy) {
  const std::vector<Buffer>& buffers = problem.buffers;
  Solution solution{std::vector<int64_t>(buffers.size(), 0)};
  std::vector<size_t> order(buffers.size()), placed;  // placed: by offset
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) {
    const int64_t size = buffers[i].size, lifetime = buffers[i].upper - buffers[i].lower;
    const double area = static_cast<double>(size) * static_cast<double>(lifetime);
    return greedy == Greedy::by_area       ? std::pair(area, size)
           : greedy == Greedy::by_lifetime ? std::pair(static_cast<double>(lifetime), size)
                                           : std::pair(static_cast<double>(size), lifetime);
  });
  for (const size_t i : order) {
    if (buffers[i].size == 0) continue;
    int64_t top = 0, best = -1, best_room = std::numeric_limits<int64_t>::max();
    for (const size_t other : placed) {
      if (buffers[other].upper <= buffers[i].lower || buffers[i].upper <= buffers[other].lower) continue;
      const int64_t room = solution.offsets[other] - top;
      if (room >= buffers[i].size && room < best_room && (best < 0 || greedy == Greedy::best_fit)) {
        best = top;
        best_room = room;
      }
      top = std::max(top, solution.offsets[other] + buffers[other].size);
    }
    solution.offsets[i] = best >= 0 ? best : top;
    solution.height = std::max(solution.height, solution.offsets[i] + buffers[i].size);
    const auto offset_of = [&](size_t each) { return solution.offsets[each]; };
    placed.insert(std::ranges::upper_bound(placed, solution.offsets[i], {}, offset_of), i);
  }
  return solution;
}

}  // namespace plimsoll::placement
