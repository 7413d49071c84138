// Depth-first search over canonical solutions, after Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning" (ASPLOS 2023), with a branching rule of our own next to its rule. In a
// canonical solution every buffer lies as low as the buffers below it allow.
//
//   floor     the lowest offset that an unplaced buffer can still have (partial.h)
//   pocket    unplaced buffers, connected in time, whose floors are below the lowest top that one of them could have:
//             no other buffer can lie below them, so the lowest of them lies at its floor
//
// A node takes one buffer of a pocket and branches: is it the next one, below all unplaced buffers that overlap it in
// time? If yes, it lies at its floor, and their floors rise to its top. If no, it lies on one of them, and its own
// floor rises to the lowest of their tops. Pockets are independent. So the search can stay at the tightest place
// instead of rising everywhere at once, and it detects a mistake near its cause. Where one stretch of time is as tight
// as another there is no such place, and it is better to rise everywhere: then the lowest buffer of all is taken, as
// minimalloc does. The two rules alternate, since most problems suit one of them only.
//
// Three rules prune the tree:
//   sections   no solution exists if the unplaced buffers of a section, piled up from their floors, exceed the capacity
//   stacks     buffers with the same lifetime directly on top of each other: only one order is tried
//   parts      unplaced buffers separated by a point in time are solved separately, and fail separately
// Several preference orders alternate, with growing node limits and some noise, because none is good for every problem,
// and restarting is better than exhausting a bad start.
#include "passes/place/search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>

#include "passes/place/partial.h"

namespace plimsoll::placement {
namespace {

// Of an item: a span is a number of distinct times, a duration is in the problem's times, and the total is the largest
// sum of sizes over its sections.
struct Measures {
  double span, total, area, size, end, duration, area_by_duration;
};

enum class Branching {
  pocket,  // the lowest item of the tightest section's pocket
  rising,  // the lowest item of all, as minimalloc does
};

struct Strategy {
  Branching branching;
  double Measures::*preference[3];  // the item with the largest is tried first among equal floors
};
constexpr Strategy kStrategies[] = {
    {Branching::pocket, {&Measures::span, &Measures::area, &Measures::total}},
    {Branching::pocket, {&Measures::total, &Measures::area, &Measures::span}},
    {Branching::pocket, {&Measures::total, &Measures::span, &Measures::area}},
    {Branching::pocket, {&Measures::area, &Measures::total, &Measures::span}},
    {Branching::pocket, {&Measures::size, &Measures::span, &Measures::total}},
    {Branching::pocket, {&Measures::end, &Measures::area, &Measures::total}},
    {Branching::rising, {&Measures::total, &Measures::duration, &Measures::area_by_duration}},
    {Branching::rising, {&Measures::area, &Measures::total, &Measures::span}},
};

class Search {
 public:
  Search(const Compact& problem, int64_t capacity)
      : problem_(problem), partial_(problem, capacity), rank_(problem.items.size()) {}

  // True: offsets() is a solution. False with nodes left: no solution exists.
  bool run(const Strategy& strategy, double noise, uint64_t seed, int64_t& nodes) {
    branching_ = strategy.branching;
    prefer(strategy, noise, seed);
    partial_.clear();
    return descend(nodes);
  }

  const std::vector<int64_t>& offsets() const { return partial_.offsets(); }

 private:
  using Range = Partial::Range;
  using Span = Partial::Span;

  // A node, which tries the items of a part one after another, or a list of parts, which are solved one after another.
  struct Frame {
    Range range = {};
    Span where = {};
    uint32_t item = Partial::kNone;  // of a node: the item that it tries
    size_t mark = 0;                 // of a node: before the item was placed
    bool cut = false;                // of a node: the placed item has separated parts
    size_t first = kNode, next = 0;  // of a list: its first part in parts_, and its next unsolved part
    bool is_list() const { return first != kNode; }
  };
  static constexpr size_t kNode = std::numeric_limits<size_t>::max();

  enum class State {
    open,    // the top frame is a node, and its tops are computed
    solved,  // what is above the top frame is placed, or the top frame is a new list
    failed,  // what is above the top frame has no solution
  };

  void prefer(const Strategy& strategy, double noise, uint64_t seed) {
    std::vector<int64_t> load(at(partial_.sections()), 0), total(problem_.items.size(), 0);
    for (const bool known : {false, true})
      for (uint32_t i = 0; i < total.size(); ++i)
        for (int32_t s = partial_.span_of(i).first; s <= partial_.span_of(i).last; ++s) {
          if (known) total[i] = std::max(total[i], load[at(s)]);
          else load[at(s)] += problem_.items[i].size;
        }
    std::mt19937_64 random(seed);
    std::vector<std::tuple<double, double, double>> keys;
    for (size_t i = 0; i < problem_.items.size(); ++i) {
      const Item& item = problem_.items[i];
      const double shaken = 1 + noise * (static_cast<double>(random() % 1024) / 512 - 1);
      const double size = static_cast<double>(item.size), duration = item.duration * shaken;
      const Measures measures = {.span = static_cast<double>(item.lifetime()) * shaken,
                                 .total = static_cast<double>(total[i]) * shaken,
                                 .area = item.area() * shaken,
                                 .size = size * shaken,
                                 .end = static_cast<double>(item.upper) * shaken,
                                 .duration = duration,
                                 .area_by_duration = duration * size};
      const auto& [first, second, third] = strategy.preference;
      keys.push_back({measures.*first, measures.*second, measures.*third});
    }
    std::vector<uint32_t> order(problem_.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] > keys[b]; });
    for (size_t i = 0; i < order.size(); ++i) rank_[order[i]] = static_cast<int32_t>(i);
  }

  // The items of the range, which are sorted by floor, up to the first that is not `wanted`.
  template <class Wanted>
  std::span<const uint32_t> first_items(Range range, Wanted wanted) const {
    const std::span<const uint32_t> all = partial_.items(range);
    return all.first(static_cast<size_t>(std::ranges::find_if_not(all, wanted) - all.begin()));
  }

  // The lowest item of the section with the highest pile; ties go to the section with the most failures.
  uint32_t seed_of(Range range, Span where) const {
    int32_t tightest = where.first;
    for (int32_t s = where.first + 1; s <= where.last; ++s)
      if (partial_.top_at(s) > partial_.top_at(tightest) ||
          (partial_.top_at(s) == partial_.top_at(tightest) && partial_.failures_at(s) > partial_.failures_at(tightest)))
        tightest = s;
    for (const uint32_t i : partial_.items(range))
      if (partial_.span_of(i).meets({tightest, tightest})) return i;
    return partial_.items(range).front();
  }

  // The item to try in the pocket of `seed`, or in a lower overlapping one: lowest floor, then lowest rank.
  uint32_t choose(Range range, uint32_t seed) {
    for (;;) {
      const auto low = first_items(range, [&](uint32_t i) { return partial_.floor_of(i) < partial_.top_of(seed); });
      Span pocket = partial_.span_of(seed);
      const auto joins = [&](const Span& span) {
        if (span.meets(pocket)) pocket.include(span);
        return span.meets(pocket);
      };
      apart_.clear();
      for (const uint32_t i : low)
        if (!joins(partial_.span_of(i))) apart_.push_back(partial_.span_of(i));
      while (std::erase_if(apart_, joins) > 0) {}
      uint32_t lowest = seed, chosen = seed;
      for (const uint32_t i : low) {
        if (!partial_.span_of(i).meets(pocket)) continue;
        if (partial_.top_of(i) < partial_.top_of(lowest)) lowest = i;
        if (std::tuple(partial_.floor_of(i), rank_[i]) < std::tuple(partial_.floor_of(chosen), rank_[chosen]))
          chosen = i;
      }
      if (lowest == seed) return chosen;
      seed = lowest;
    }
  }

  // The item with the lowest floor of all, then lowest rank.
  uint32_t lowest_of_all(Range range) const {
    const int64_t floor = partial_.floor_of(partial_.items(range).front());
    return *std::ranges::min_element(first_items(range, [&](uint32_t i) { return partial_.floor_of(i) == floor; }), {},
                                     [&](uint32_t i) { return rank_[i]; });
  }

  // True if the item would lie directly on one with the same lifetime and a later rank: only the other order is tried.
  bool stacked_wrongly(uint32_t item) const {
    const uint32_t under = partial_.below(item);
    return under != Partial::kNone && problem_.items[under].lower == problem_.items[item].lower &&
           problem_.items[under].upper == problem_.items[item].upper && rank_[under] > rank_[item];
  }

  void push_parts(Range range, Span where) {
    const size_t first = parts_.size();
    partial_.split(range, where, parts_);
    frames_.push_back({.range = range, .where = where, .first = first, .next = first});
  }

  // Depth-first, with a stack of its own.
  bool descend(int64_t& nodes) {
    frames_.clear();
    parts_.clear();
    stale_ = {};
    const Partial::Part all = partial_.everything();
    if (!partial_.pile(all.range, all.where)) return false;
    push_parts(all.range, all.where);
    for (State state = State::solved;;) {
      switch (state) {
        case State::solved:
          if (!open_part()) return true;
          state = State::open;
          break;
        case State::open:
          state = place_one(nodes);
          if (nodes < 0) return false;
          break;
        case State::failed:
          if (frames_.empty()) return false;
          state = go_back();
          break;
      }
    }
  }

  // After a success: makes the next unsolved part the top frame. False: there is none.
  bool open_part() {
    for (; !frames_.empty(); frames_.pop_back()) {
      Frame& top = frames_.back();
      if (!top.is_list()) continue;
      if (top.next < parts_.size()) {
        const Partial::Part part = parts_[top.next++];
        frames_.push_back({.range = part.range, .where = part.where});
        return true;
      }
      parts_.resize(top.first);
    }
    return false;
  }

  State place_one(int64_t& nodes) {
    Frame& node = frames_.back();
    const Range range = node.range;
    const Span where = node.where;
    node.item = branching_ == Branching::rising ? lowest_of_all(range) : choose(range, seed_of(range, where));
    node.mark = partial_.mark();
    node.cut = false;
    if (stacked_wrongly(node.item)) return State::failed;
    if (--nodes < 0) return State::failed;
    const Partial::Placed placed = partial_.place(range, node.item);
    if (placed.rest.empty()) return State::solved;
    if (!partial_.pile(placed.rest, placed.changed)) return State::failed;
    node.cut = placed.cut;
    if (placed.cut) {
      push_parts(placed.rest, where);
      return State::solved;
    }
    frames_.push_back({.range = placed.rest, .where = where});
    return State::open;
  }

  // After a failure of what is above the top frame: the item of a node is placed otherwise, if it can be.
  State go_back() {
    Frame& top = frames_.back();
    if (top.is_list()) {
      parts_.resize(top.first);
    } else {
      if (partial_.mark() > top.mark) stale_.include(partial_.undo(top.range, top.mark, top.cut));
      if (partial_.refuse(top.range, top.item)) {
        Span where = partial_.span_of(top.item);
        where.include(stale_);
        if (partial_.pile(top.range, where)) {
          stale_ = {};
          return State::open;
        }
      }
    }
    frames_.pop_back();
    return State::failed;
  }

  const Compact& problem_;
  Partial partial_;
  Branching branching_ = Branching::pocket;
  std::vector<int32_t> rank_;
  std::vector<Frame> frames_ = {};
  Span stale_ = {};                        // tops to be computed again before the next choice
  std::vector<Partial::Part> parts_ = {};  // of all lists on the stack, concatenated
  std::vector<Span> apart_ = {};           // of choose(): low items outside of the pocket
};

// At least twice the number of items, which allows one descent with some backtracking.
constexpr int64_t kFirstLimit = 1000;
constexpr double kNoise = 0.02;

}  // namespace

std::optional<std::vector<int64_t>> search(const Compact& problem, int64_t capacity, int64_t& nodes) {
  Search search(problem, capacity);
  int64_t limit = std::max(kFirstLimit, 2 * static_cast<int64_t>(problem.items.size()));
  for (uint64_t turn = 0;; ++turn, limit += limit / 10)
    for (const Strategy& strategy : kStrategies) {
      if (nodes <= 0) return std::nullopt;
      int64_t left = std::min(limit, nodes);
      nodes -= left;
      const bool found = search.run(strategy, turn == 0 ? 0 : kNoise, turn, left);
      if (left > 0) nodes += left;
      if (found) return search.offsets();
      if (left >= 0) return std::nullopt;  // search space exhausted
    }
}

}  // namespace plimsoll::placement
