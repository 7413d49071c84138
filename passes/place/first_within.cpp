#include "passes/place/first_within.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll::placement {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

}  // namespace

ItemsByRank::Node ItemsByRank::either(const Node& a, const Node& b) {
  return {std::max(a.lower, b.lower), std::min(a.upper, b.upper), std::min(a.lifetime, b.lifetime)};
}

void ItemsByRank::start(const std::vector<uint32_t>& order) {
  while (leaves_ < order.size()) leaves_ *= 2;
  tree_.assign(2 * static_cast<size_t>(leaves_), Node{});
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    const Item& item = problem_.items[order[rank]];
    tree_[leaves_ + rank] = {item.lower, item.upper, item.upper - item.lower};
  }
  for (uint32_t node = leaves_; node-- > 1;) tree_[node] = either(tree_[2 * node], tree_[2 * node + 1]);
}

// Depth first, low ranks first. Skips subtrees all of whose items begin too early, end too late or live too long.
uint32_t ItemsByRank::first_within(int32_t lower, int32_t upper) const {
  const auto may_have = [&](uint32_t node) {
    const Node& of = tree_[node];
    return of.lower >= lower && of.upper <= upper && of.lifetime <= upper - lower;
  };
  uint32_t node = 1;
  for (;;) {
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

void ItemsByRank::remove(uint32_t rank) {
  uint32_t node = leaves_ + rank;
  tree_[node] = {};
  for (node /= 2; node > 0; node /= 2) {
    const Node before = std::exchange(tree_[node], either(tree_[2 * node], tree_[2 * node + 1]));
    if (tree_[node] == before) return;  // nor does any above it change
  }
}

ItemsByBeginning::ItemsByBeginning(const Compact& problem)
    : problem_(problem),
      places_(problem.items.size()),
      place_of_(problem.items.size()),
      first_at_(static_cast<size_t>(problem.times) + 1, static_cast<uint32_t>(problem.items.size())) {
  std::iota(places_.begin(), places_.end(), 0);
  std::ranges::stable_sort(places_, {}, [&](uint32_t i) { return problem.items[i].lower; });
  for (uint32_t place = 0; place < places_.size(); ++place) place_of_[places_[place]] = place;
  for (uint32_t place = static_cast<uint32_t>(places_.size()); place-- > 0;)
    first_at_[static_cast<size_t>(problem.items[places_[place]].lower)] = place;
  for (size_t time = first_at_.size() - 1; time-- > 0;)
    first_at_[time] = std::min(first_at_[time], first_at_[time + 1]);
  while (leaves_ < places_.size()) leaves_ *= 2;
  tree_.resize(2 * static_cast<size_t>(leaves_));
}

ItemsByBeginning::Node ItemsByBeginning::lowest_of(const Node& a, const Node& b) {
  return {std::min(a.rank, b.rank), std::min(a.upper, b.upper)};
}

void ItemsByBeginning::start(const std::vector<uint32_t>& order) {
  order_ = &order;
  std::fill(tree_.begin(), tree_.end(), Node{kNoRank, kNever});
  for (uint32_t rank = 0; rank < order.size(); ++rank)
    tree_[leaves_ + place_of_[order[rank]]] = {rank, problem_.items[order[rank]].upper};
  for (uint32_t node = leaves_; node-- > 1;) tree_[node] = lowest_of(tree_[2 * node], tree_[2 * node + 1]);
}

void ItemsByBeginning::remove(uint32_t rank) {
  uint32_t node = leaves_ + place_of_[(*order_)[rank]];
  tree_[node] = {kNoRank, kNever};
  for (node /= 2; node > 0; node /= 2) {
    const Node before = std::exchange(tree_[node], lowest_of(tree_[2 * node], tree_[2 * node + 1]));
    if (tree_[node].rank == before.rank && tree_[node].upper == before.upper) return;  // nor does any above it change
  }
}

// The lowest rank among the places [first, last) whose item ends by `upper`. Subtrees without a rank below the best so
// far, or without an early enough end, are skipped.
uint32_t ItemsByBeginning::first_within(int32_t lower, int32_t upper) {
  uint32_t best = kNoRank;
  const uint32_t first = first_at_[static_cast<size_t>(lower)], last = first_at_[static_cast<size_t>(upper)];
  struct Part {
    uint32_t node, begin, end;
  };
  Part parts[64];
  int many = 0;
  parts[many++] = {1, 0, leaves_};
  while (many > 0) {
    const Part part = parts[--many];
    ++scanned_;
    const Node& node = tree_[part.node];
    if (part.end <= first || last <= part.begin || node.rank >= best || node.upper > upper) continue;
    if (part.node >= leaves_) {
      best = node.rank;
      continue;
    }
    const uint32_t middle = (part.begin + part.end) / 2;
    const Part low{2 * part.node, part.begin, middle}, high{2 * part.node + 1, middle, part.end};
    const bool low_first = tree_[low.node].rank < tree_[high.node].rank;
    parts[many++] = low_first ? high : low;
    parts[many++] = low_first ? low : high;
  }
  return best;
}

}  // namespace plimsoll::placement
