#include "passes/place/solve.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "passes/place/compact.h"
#include "passes/place/pile.h"
#include "passes/place/search.h"

namespace plimsoll::placement {
namespace {

using Order = std::vector<uint32_t>;

template <class Key>
Order sorted(const Compact& problem, Key key) {
  Order order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(problem.items[a]) > key(problem.items[b]); });
  return order;
}

Order order_of(const Compact& problem, Method method) {
  switch (method) {
    case Method::by_area: return sorted(problem, [](const Item& item) { return std::pair(item.area(), item.size); });
    case Method::by_lifetime:
      return sorted(problem, [](const Item& item) { return std::pair(item.lifetime(), item.size); });
    default: return sorted(problem, [](const Item& item) { return std::pair(item.size, item.lifetime()); });
  }
}

struct Packing {
  std::vector<int64_t> offsets = {};  // of items
  int64_t height = 0;
  int64_t scanned = 0;
};

Packing pack(const Compact& problem, const Order& order, Gap gap) {
  Pile pile;
  Packing packing{std::vector<int64_t>(problem.items.size())};
  for (const uint32_t i : order) {
    const Item& item = problem.items[i];
    packing.offsets[i] = pile.add(item.lower, item.upper, item.size, gap);
  }
  packing.height = pile.height();
  packing.scanned = pile.scanned();
  return packing;
}

// Hill climbing on the order: what reaches the top of the pile is taken earlier, nearer to the bottom, at a place that
// a fixed sequence of random numbers draws; a pile that is no higher than the last is kept, so that plateaus are
// crossed. Ends at the lower bound or when the effort is spent.
void repack(const Compact& problem, Order order, Packing& best, int64_t effort) {
  std::mt19937_64 random(1);
  Packing current = best;
  std::vector<uint32_t> summit;
  while (best.height > problem.bound && effort > 0) {
    summit.clear();
    for (uint32_t position = 0; position < order.size(); ++position)
      if (current.offsets[order[position]] + problem.items[order[position]].size == current.height)
        summit.push_back(position);
    const uint32_t from = summit[random() % summit.size()];
    if (from == 0) return;
    Order next = order;
    const uint32_t to = static_cast<uint32_t>(random() % from);
    std::rotate(next.begin() + to, next.begin() + from, next.begin() + from + 1);
    Packing packing = pack(problem, next, Gap::lowest);
    effort -= packing.scanned + static_cast<int64_t>(order.size());
    if (packing.height > current.height) continue;
    order = std::move(next);
    current = std::move(packing);
    if (current.height < best.height) best = current;
  }
}

// What any height is a multiple of.
int64_t grain_of(const Compact& problem) {
  int64_t grain = 0;
  for (const Item& item : problem.items) grain = std::gcd(grain, item.size);
  return grain;
}

void take(const Compact& problem, std::vector<int64_t> offsets, Packing& best) {
  best.offsets = std::move(offsets);
  best.height = 0;
  for (size_t i = 0; i < problem.items.size(); ++i)
    best.height = std::max(best.height, best.offsets[i] + problem.items[i].size);
}

// Bisects the heights between the bound and the best known with the exact search. The bound itself comes first, with
// half of the effort: it is often reached, and a search that runs out of nodes proves nothing.
void search_below(const Compact& problem, Packing& best, int64_t nodes) {
  const int64_t grain = grain_of(problem);
  int64_t low = problem.bound - grain;  // not known to be possible
  for (int64_t capacity = problem.bound, share = nodes / 2; low + grain < best.height && nodes > share / 2;) {
    int64_t left = share;
    std::optional<std::vector<int64_t>> found = search(problem, capacity, left);
    nodes -= share - left;
    share = std::min(share, nodes / 2);
    if (found) {
      take(problem, std::move(*found), best);
    } else {
      low = capacity;
    }
    capacity = low + std::max(grain, (best.height - low) / 2 / grain * grain);
    share = std::max<int64_t>(share / 2, 1000);
  }
}

constexpr int64_t kEnoughScans = 1'000'000'000;  // some seconds: of tens of thousands of buffers one order is enough
constexpr size_t kSearchable = 512;  // its depth is the number of buffers, and so is the work at each node

Packing best_of(const Compact& problem, const Effort& effort) {
  Packing best;
  Order best_order;
  int64_t scanned = 0;
  for (const Method method : {Method::by_lifetime, Method::by_size, Method::by_area}) {
    const Order order = order_of(problem, method);
    Packing packing = pack(problem, order, Gap::lowest);
    scanned += packing.scanned;
    if (best_order.empty() || packing.height < best.height) {
      best = std::move(packing);
      best_order = order;
    }
    if (best.height == problem.bound || scanned > kEnoughScans) return best;
  }
  if (effort.capacity > 0 && best.height <= effort.capacity) return best;
  if (effort.capacity >= problem.bound && problem.items.size() <= kSearchable) {
    int64_t nodes = effort.nodes;
    if (std::optional<std::vector<int64_t>> found = search(problem, effort.capacity, nodes)) {
      take(problem, std::move(*found), best);
      return best;
    }
  }
  Packing tight = pack(problem, order_of(problem, Method::best_fit), Gap::tightest);
  repack(problem, best_order, best, effort.scans);
  if (tight.height < best.height) best = std::move(tight);
  if (problem.items.size() <= kSearchable) search_below(problem, best, effort.nodes);
  return best;
}

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::by_size: return "by_size";
    case Method::best_fit: return "best_fit";
    case Method::by_area: return "by_area";
    case Method::by_lifetime: return "by_lifetime";
    case Method::best_of: return "best_of";
  }
  return "";
}

Solution solve(const Problem& problem, Method method, const Effort& effort) {
  const Compact items = compact(problem);
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  if (items.items.empty()) return solution;
  const Packing packing = method == Method::best_of
                              ? best_of(items, effort)
                              : pack(items, order_of(items, method),
                                     method == Method::best_fit ? Gap::tightest : Gap::lowest);
  for (size_t i = 0; i < items.items.size(); ++i) solution.offsets[items.items[i].buffer] = packing.offsets[i];
  solution.height = packing.height;
  return solution;
}

}  // namespace plimsoll::placement
