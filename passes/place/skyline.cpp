#include "passes/place/skyline.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace plimsoll::placement {
namespace {

constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

}  // namespace

Skyline::Skyline(const Compact& problem) : problem_(problem), stretches_(static_cast<size_t>(problem.times)) {
  while (leaves_ < problem.items.size()) leaves_ *= 2;
  tree_.resize(2 * static_cast<size_t>(leaves_));
}

Skyline::Node Skyline::either(const Node& a, const Node& b) {
  return {std::max(a.lower, b.lower), std::min(a.upper, b.upper), std::min(a.lifetime, b.lifetime)};
}

void Skyline::start(const std::vector<uint32_t>& order) {
  std::ranges::fill(tree_, Node{});
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    const Item& item = problem_.items[order[rank]];
    tree_[leaves_ + rank] = {item.lower, item.upper, item.upper - item.lower};
  }
  for (uint32_t node = leaves_; node-- > 1;) tree_[node] = either(tree_[2 * node], tree_[2 * node + 1]);
}

// Depth first, low ranks first. Skips subtrees all of whose items begin too early, end too late or live too long.
uint32_t Skyline::first_within(int32_t lower, int32_t upper) {
  const auto may_have = [&](uint32_t node) {
    const Node& of = tree_[node];
    return of.lower >= lower && of.upper <= upper && of.lifetime <= upper - lower;
  };
  uint32_t node = 1;
  for (;;) {
    ++scanned_;
    if (may_have(node)) {
      if (node >= leaves_) return node - leaves_;
      node *= 2;
      continue;
    }
    while (node % 2 == 1) node /= 2;  // the next subtree to the right
    if (node == 0) return kNoRank;
    ++node;
  }
}

void Skyline::remove(uint32_t rank) {
  uint32_t node = leaves_ + rank;
  tree_[node] = {};
  for (node /= 2; node > 0; node /= 2) {
    const Node before = std::exchange(tree_[node], either(tree_[2 * node], tree_[2 * node + 1]));
    if (tree_[node] == before) return;  // nor does any above it change
  }
}

std::vector<int64_t> Skyline::fill(const std::vector<uint32_t>& order, int64_t below) {
  std::vector<int64_t> offsets(problem_.items.size(), 0);
  start(order);
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
    const uint32_t rank = first_within(begin, stretch.upper);
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
    remove(rank);
    --left;
    if (begin < item.lower) put(begin, item.lower, stretch.before, height);
    if (item.upper < stretch.upper) put(item.upper, stretch.upper, item.lower, height);
    put(item.lower, item.upper, begin < item.lower ? begin : stretch.before, top);
  }
  return offsets;
}

}  // namespace plimsoll::placement
