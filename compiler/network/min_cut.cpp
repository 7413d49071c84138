#include "compiler/network/min_cut.h"

#include <algorithm>

namespace plimsoll {

size_t TwoLabels::add(int64_t price_of_a, int64_t price_of_b) {
  of_.emplace_back();
  const size_t thing = of_.size() - 1 - kFirst;
  add_prices(thing, price_of_a, price_of_b);
  return thing;
}

// Only the difference of the two prices matters.
void TwoLabels::add_prices(size_t thing, int64_t price_of_a, int64_t price_of_b) {
  const int64_t less = std::min(price_of_a, price_of_b);
  edge(kSource, thing + kFirst, price_of_b - less);
  edge(thing + kFirst, kSink, price_of_a - less);
}

void TwoLabels::add_disagreement(size_t a, size_t b, int64_t price) { edge(a + kFirst, b + kFirst, price); }

void TwoLabels::edge(size_t from, size_t to, int64_t capacity) {
  if (capacity == 0) return;
  of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

// Breadth-first distances from the source over edges with residual capacity. False: the sink is unreachable.
bool TwoLabels::find_levels() {
  level_.assign(of_.size(), -1);
  level_[kSource] = 0;
  std::vector<size_t> reached = {kSource};
  for (size_t i = 0; i < reached.size() && level_[kSink] < 0; ++i)
    for (const size_t e : of_[reached[i]]) {
      if (edges_[e].capacity == 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[reached[i]] + 1;
      reached.push_back(edges_[e].to);
    }
  return level_[kSink] >= 0;
}

// A blocking flow in the level graph: a depth-first walk from the source that backtracks at dead ends and never
// revisits them.
void TwoLabels::push_flow() {
  std::vector<size_t> next(of_.size(), 0), path;  // edges
  for (;;) {
    const size_t at = path.empty() ? kSource : edges_[path.back()].to;
    if (at == kSink) {
      int64_t room = kNever;
      for (const size_t e : path) room = std::min(room, edges_[e].capacity);
      size_t full = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        edges_[path[i]].capacity -= room;
        edges_[path[i] ^ 1].capacity += room;
        if (edges_[path[i]].capacity == 0) full = i;
      }
      path.resize(full);
      continue;
    }
    bool goes_on = false;
    for (; next[at] < of_[at].size(); ++next[at]) {
      const Edge& edge = edges_[of_[at][next[at]]];
      if (edge.capacity == 0 || level_[edge.to] != level_[at] + 1) continue;
      goes_on = true;
      break;
    }
    if (goes_on) {
      path.push_back(of_[at][next[at]]);
    } else if (path.empty()) {
      return;
    } else {
      ++next[edges_[path.back() ^ 1].to];
      path.pop_back();
    }
  }
}

std::vector<bool> TwoLabels::cheapest() {
  while (find_levels()) push_flow();
  // Nodes that can still reach the sink are B, all others A: no minimum cut has fewer nodes on the sink's side.
  std::vector<bool> reaches(of_.size(), false);
  reaches[kSink] = true;
  std::vector<size_t> found = {kSink};
  for (size_t i = 0; i < found.size(); ++i)
    for (const size_t e : of_[found[i]]) {
      const size_t from = edges_[e].to;
      if (edges_[e ^ 1].capacity == 0 || reaches[from]) continue;
      reaches[from] = true;
      found.push_back(from);
    }
  return {reaches.begin() + kFirst, reaches.end()};
}

}  // namespace plimsoll
