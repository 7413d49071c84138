#include "passes/place/solve.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "passes/place/pile.h"

namespace plimsoll::placement {
namespace {

using Order = std::vector<uint32_t>;

// The buffers that need bytes, with times as ranks: comparisons are all that matters.
struct Compact {
  struct Item {
    int32_t lower, upper;
    int64_t size;
    size_t buffer;
  };
  std::vector<Item> items;
  int64_t bound = 0;
};

Compact compact(const Problem& problem) {
  std::vector<int64_t> times;
  for (const Buffer& buffer : problem.buffers) {
    times.push_back(buffer.lower);
    times.push_back(buffer.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto rank = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  Compact found;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.size > 0) found.items.push_back({rank(buffer.lower), rank(buffer.upper), buffer.size, i});
  }
  found.bound = lower_bound(problem);
  return found;
}

template <class Key>
Order sorted(const Compact& problem, Key key) {
  Order order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(problem.items[a]) > key(problem.items[b]); });
  return order;
}

using Item = Compact::Item;
int64_t lifetime(const Item& item) { return item.upper - item.lower; }
double area(const Item& item) { return static_cast<double>(item.size) * static_cast<double>(lifetime(item)); }

Order order_of(const Compact& problem, Method method) {
  switch (method) {
    case Method::by_area: return sorted(problem, [](const Item& item) { return std::pair(area(item), item.size); });
    case Method::by_lifetime:
      return sorted(problem, [](const Item& item) { return std::pair(lifetime(item), item.size); });
    default: return sorted(problem, [](const Item& item) { return std::pair(item.size, lifetime(item)); });
  }
}

struct Packing {
  std::vector<int64_t> offsets;  // of items
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

Packing best_of(const Compact& problem, const Effort& effort) {
  Packing best;
  Order best_order;
  for (const Method method : {Method::by_lifetime, Method::by_size, Method::by_area}) {
    const Order order = order_of(problem, method);
    Packing packing = pack(problem, order, Gap::lowest);
    if (!best_order.empty() && packing.height >= best.height) continue;
    best = std::move(packing);
    best_order = order;
    if (best.height == problem.bound) return best;
  }
  Packing tight = pack(problem, order_of(problem, Method::best_fit), Gap::tightest);
  repack(problem, best_order, best, effort.scans);
  return tight.height < best.height ? tight : best;
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
