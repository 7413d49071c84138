#include "passes/place/skyline.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace plimsoll::placement {

template <class Items>
Skyline<Items>::Skyline(const Compact& problem)
    : problem_(problem), items_(problem), stretches_(static_cast<size_t>(problem.times)) {}

template <class Items>
std::vector<int64_t> Skyline<Items>::fill(const std::vector<uint32_t>& order, int64_t below) {
  std::vector<int64_t> offsets(problem_.items.size(), 0);
  items_.start(order);
  const int32_t end = problem_.times - 1;
  using Low = std::pair<int64_t, int32_t>;  // height, begin; outdated entries are skipped
  std::priority_queue<Low, std::vector<Low>, std::greater<>> lowest;
  const auto height_at = [&](int32_t begin) { return begin >= 0 && begin < end ? stretch_at(begin).height : -1; };
  // Adjacent stretches of the same height are merged.
  const auto put = [&](int32_t begin, int32_t upper, int32_t before, int64_t height) {
    if (height_at(before) == height) begin = std::exchange(before, stretch_at(before).before);
    if (height_at(upper) == height) {
      stretch_at(upper).height = -1;
      upper = stretch_at(upper).upper;
    }
    stretch_at(begin) = {upper, before, height};
    if (upper < end) stretch_at(upper).before = begin;
    lowest.push({height, begin});
  };
  for (Stretch& stretch : stretches_) stretch.height = -1;
  put(0, end, -1, 0);
  for (size_t left = order.size(); left > 0;) {
    const auto [height, begin] = lowest.top();
    lowest.pop();
    const Stretch stretch = stretch_at(begin);
    if (stretch.height != height) continue;
    ++scanned_;
    stretch_at(begin).height = -1;
    const uint32_t rank = items_.first_within(begin, stretch.upper);
    if (rank == kNoRank) {
      const int64_t before = height_at(stretch.before), after = height_at(stretch.upper);
      put(begin, stretch.upper, stretch.before, after < 0 ? before : before < 0 ? after : std::min(before, after));
      continue;
    }
    const uint32_t chosen = order[rank];
    const Item& item = problem_.items[chosen];
    const int64_t top = height + item.size;
    if (top >= below) return {};
    offsets[chosen] = height;
    items_.remove(rank);
    --left;
    if (begin < item.lower) put(begin, item.lower, stretch.before, height);
    if (item.upper < stretch.upper) put(item.upper, stretch.upper, item.lower, height);
    put(item.lower, item.upper, begin < item.lower ? begin : stretch.before, top);
  }
  return offsets;
}

template class Skyline<ItemsByBeginning>;
template class Skyline<ItemsByRank>;

}  // namespace plimsoll::placement
