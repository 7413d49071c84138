#include "passes/place/skyline.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <queue>
#include <utility>

namespace plimsoll::placement {
namespace {

constexpr uint32_t kNoNode = std::numeric_limits<uint32_t>::max();
constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

}  // namespace

Skyline::Skyline(const Compact& problem)
    : problem_(problem),
      place_of_(problem.items.size()),
      first_at_(at(problem.times) + 1, 0),
      stretches_(at(problem.times)) {
  for (const Item& item : problem.items) ++first_at_[at(item.lower) + 1];
  std::partial_sum(first_at_.begin(), first_at_.end(), first_at_.begin());
  std::vector<uint32_t> next(first_at_.begin(), std::prev(first_at_.end()));
  for (size_t i = 0; i < place_of_.size(); ++i) place_of_[i] = next[at(problem.items[i].lower)]++;
  while (leaves_ < place_of_.size()) leaves_ *= 2;
  tree_.resize(2 * static_cast<size_t>(leaves_));
}

Skyline::Node Skyline::lowest_of(const Node& a, const Node& b) {
  return {std::min(a.rank, b.rank), std::min(a.upper, b.upper)};
}

void Skyline::remove(uint32_t place) {
  uint32_t node = leaves_ + place;
  tree_[node] = {kNoNode, kNever};
  for (node /= 2; node > 0; node /= 2) {
    const Node before = std::exchange(tree_[node], lowest_of(tree_[2 * node], tree_[2 * node + 1]));
    if (tree_[node].rank == before.rank && tree_[node].upper == before.upper) return;  // nor does any above it change
  }
}

// The lowest rank among the places [first, last) whose item ends by `upper`. Subtrees without a rank below the best so
// far, or without an early enough end, are skipped.
uint32_t Skyline::first_within(int32_t lower, int32_t upper) {
  uint32_t best = kNoNode;
  const uint32_t first = first_at_[at(lower)], last = first_at_[at(upper)];
  struct Part {
    uint32_t node, begin, end;
  };
  const auto may_contain = [&](const Part& part) {
    const Node& node = tree_[part.node];
    return first < part.end && part.begin < last && node.rank < best && node.upper <= upper;
  };
  Part left[32];  // at most one per level
  int many = 0;
  ++scanned_;
  if (const Part root{1, 0, leaves_}; may_contain(root)) left[many++] = root;
  while (many > 0) {
    Part part = left[--many];
    if (tree_[part.node].rank >= best) continue;
    // Descends into the half with the lower rank, and leaves the other for later.
    for (bool found = true; found && part.node < leaves_;) {
      const uint32_t middle = (part.begin + part.end) / 2;
      Part near{2 * part.node, part.begin, middle}, far{2 * part.node + 1, middle, part.end};
      if (tree_[far.node].rank < tree_[near.node].rank) std::swap(near, far);
      scanned_ += 2;
      const bool is_near = may_contain(near), is_far = may_contain(far);
      if (is_near && is_far) left[many++] = far;
      found = is_near || is_far;
      part = is_near ? near : far;
    }
    if (part.node >= leaves_ && may_contain(part)) best = tree_[part.node].rank;
  }
  return best;
}

std::vector<int64_t> Skyline::fill(const std::vector<uint32_t>& order, int64_t below) {
  std::vector<int64_t> offsets(problem_.items.size(), 0);
  std::fill(tree_.begin(), tree_.end(), Node{kNoNode, kNever});
  for (uint32_t rank = 0; rank < order.size(); ++rank)
    tree_[leaves_ + place_of_[order[rank]]] = {rank, problem_.items[order[rank]].upper};
  for (uint32_t node = leaves_; node-- > 1;) tree_[node] = lowest_of(tree_[2 * node], tree_[2 * node + 1]);

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
    if (rank == kNoNode) {
      const int64_t before = height_at(stretch.before), after = height_at(stretch.upper);
      put(begin, stretch.upper, stretch.before, after < 0 ? before : before < 0 ? after : std::min(before, after));
      continue;
    }
    const uint32_t chosen = order[rank];
    const Item& item = problem_.items[chosen];
    const int64_t top = height + item.size;
    if (top >= below) return {};
    offsets[chosen] = height;
    remove(place_of_[chosen]);
    --left;
    if (begin < item.lower) put(begin, item.lower, stretch.before, height);
    if (item.upper < stretch.upper) put(item.upper, stretch.upper, item.lower, height);
    put(item.lower, item.upper, begin < item.lower ? begin : stretch.before, top);
  }
  return offsets;
}

}  // namespace plimsoll::placement
