#include "passes/place/solve.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "passes/place/compact.h"
#include "passes/place/search.h"
#include "passes/place/skyline.h"
#include "passes/pool/two_ended_pool.h"

namespace plimsoll::placement {
namespace {

using Order = std::vector<uint32_t>;

template <class Key>
Order sorted(const Compact& problem, Key key) {
  Order order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](uint32_t i) { return key(problem.items[i]); });
  return order;
}

struct Packing {
  std::vector<int64_t> offsets = {};  // of items
  int64_t height = 0;
};

Packing packing_of(const Compact& problem, std::vector<int64_t> offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < offsets.size(); ++i) height = std::max(height, offsets[i] + problem.items[i].size);
  return {std::move(offsets), height};
}

// Every height is a multiple of this.
int64_t grain_of(const Compact& problem) {
  int64_t grain = 0;
  for (const Item& item : problem.items) grain = std::gcd(grain, item.size);
  return grain;
}

// Bisects with the exact search between the target, which has been tried and is not known to be feasible, and the best
// known height. A search that runs out of nodes proves nothing, so each step gets only a share of the remaining nodes.
void search_below(const Compact& problem, int64_t target, Packing& best, int64_t nodes) {
  const int64_t grain = grain_of(problem), least = static_cast<int64_t>(problem.items.size());
  for (int64_t low = target; low + grain < best.height && nodes > least;) {
    const int64_t capacity = low + std::max(grain, (best.height - low) / 2 / grain * grain);
    const int64_t share = std::min(nodes, std::max(nodes / 4, 3 * least));
    int64_t left = share;
    std::optional<std::vector<int64_t>> found = search(problem, capacity, left);
    nodes -= share - left;
    if (found) best = packing_of(problem, std::move(*found));
    else low = capacity;
  }
}

constexpr int64_t kMany = 10'000;  // above this, skylines are near the bound, and what follows takes too long
constexpr int64_t kUsual = 512;     // number of buffers that Effort::nodes is meant for

Compact mirrored(const Compact& problem) {
  Compact mirror = problem;
  for (Item& item : mirror.items) {
    const int32_t lower = item.lower;
    item.lower = problem.times - 1 - item.upper;
    item.upper = problem.times - 1 - lower;
  }
  return mirror;
}

// A skyline packing, with the data needed to fill a slightly different one.
struct Filled {
  Packing packing = {.height = std::numeric_limits<int64_t>::max()};
  Order order = {};
  bool backwards = false;  // the order belongs to the mirrored problem
};

// The lowest of several skylines, or the first that meets the target. Orders that suit most plans come first: by
// lifetime for nested lifetimes, by beginning or end for a budget that is full nearly all the time.
Filled fill_skylines(const Compact& problem, int64_t target, bool begin_first) {
  Filled best;
  const auto fill = [&](Skyline& skyline, Order order, bool backwards) {
    std::vector<int64_t> lower = skyline.fill(order, best.packing.height);
    if (lower.empty()) return false;
    best.packing = packing_of(problem, std::move(lower));
    best.order = std::move(order);
    best.backwards = backwards;
    return best.packing.height <= target;
  };
  const auto by_beginning = [](const Item& item) { return std::pair<int64_t, int64_t>(-item.lower, item.lifetime()); };
  const auto by_lifetime = [](const Item& item) { return std::pair(item.lifetime(), item.size); };
  const auto by_area = [](const Item& item) { return std::pair(item.area(), item.size); };
  const auto by_size = [](const Item& item) { return std::pair(item.size, item.lifetime()); };
  Skyline skyline(problem);
  if (begin_first && fill(skyline, sorted(problem, by_beginning), false)) return best;
  if (fill(skyline, sorted(problem, by_lifetime), false)) return best;
  if (!begin_first && fill(skyline, sorted(problem, by_beginning), false)) return best;
  const Compact mirror = mirrored(problem);
  Skyline backwards(mirror);
  if (fill(backwards, sorted(mirror, by_beginning), true)) return best;
  if (fill(skyline, sorted(problem, by_area), false)) return best;
  fill(skyline, sorted(problem, by_size), false);
  return best;
}

// Hill climbing on the order: exchanges two items that live at the time of one above the target. The objective is the
// sum over items of the bytes above the target. Equal results are accepted, so plateaus are crossed.
void shuffle(const Compact& problem, Filled start, int64_t target, int64_t scans, Packing& best) {
  const Compact world = start.backwards ? mirrored(problem) : problem;
  Skyline skyline(world);
  std::mt19937_64 random(1);
  Order order = std::move(start.order), above, beside;
  Packing current = std::move(start.packing);
  const auto excess = [&](const Packing& packing) {
    int64_t sum = 0;
    for (size_t i = 0; i < world.items.size(); ++i)
      sum += std::max<int64_t>(packing.offsets[i] + world.items[i].size - target, 0);
    return sum;
  };
  int64_t least = excess(current);
  while (best.height > target && skyline.scanned() < scans) {
    above.clear();
    for (uint32_t i = 0; i < world.items.size(); ++i)
      if (current.offsets[i] + world.items[i].size > target) above.push_back(i);
    if (above.empty()) return;
    const Item& high = world.items[above[random() % above.size()]];
    beside.clear();
    for (uint32_t rank = 0; rank < order.size(); ++rank)
      if (world.items[order[rank]].meets(high)) beside.push_back(rank);
    const uint32_t a = beside[random() % beside.size()], b = beside[random() % beside.size()];
    std::swap(order[a], order[b]);
    Packing packing = packing_of(world, skyline.fill(order));
    if (const int64_t now = excess(packing); now <= least) {
      least = now;
      current = std::move(packing);
      if (current.height < best.height) best = current;
    } else {
      std::swap(order[a], order[b]);
    }
  }
}

Packing best_of(const Compact& problem, const Effort& effort) {
  const int64_t target = std::max(problem.bound, effort.capacity);
  const auto many = static_cast<int64_t>(problem.items.size());
  const Filled filled = fill_skylines(problem, target, effort.by_beginning && many > kMany);
  Packing best = filled.packing;
  if (best.height <= target || many > kMany) return best;

  // A node costs more with more buffers, and one descent takes one node per buffer.
  const double scale = std::min(1.0, static_cast<double>(kUsual) / static_cast<double>(many));
  const auto scaled = [&](int64_t nodes) { return static_cast<int64_t>(static_cast<double>(nodes) * scale * scale); };
  int64_t nodes = scaled(effort.nodes);
  if (nodes > many) {
    int64_t left = effort.nodes_above > 0 && nodes >= 8 * many ? nodes - scaled(effort.nodes_above)
                   : effort.capacity > 0 || nodes < 8 * many   ? nodes
                                                               : nodes / 2;
    nodes -= left;
    if (std::optional<std::vector<int64_t>> found = search(problem, target, left))
      return packing_of(problem, std::move(*found));
    nodes += left;
  }
  shuffle(problem, filled, target, effort.scans, best);
  if (nodes > many) search_below(problem, target, best, nodes);
  return best;
}

}  // namespace

Solution solve(const Problem& problem, const Effort& effort) {
  const Compact items = compact(problem);
  Solution solution{std::vector<int64_t>(problem.buffers.size(), 0)};
  if (items.items.empty()) return solution;
  const Packing packing = best_of(items, effort);
  for (size_t i = 0; i < items.items.size(); ++i) solution.offsets[items.items[i].buffer] = packing.offsets[i];
  solution.height = packing.height;
  return solution;
}

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
