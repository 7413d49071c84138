// Depth-first search over canonical solutions, after Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning" (ASPLOS 2023), with a different branching rule. In a canonical solution every
// buffer lies as low as the buffers below it allow.
//
//   floor     the lowest offset that an unplaced buffer can still have
//   section   a stretch of time with a constant set of live buffers; only maximal sets are considered
//   pocket    unplaced buffers, connected in time, whose floors are below the lowest top that one of them could have:
//             no other buffer can lie below them, so the lowest of them lies at its floor
//
// A node takes one buffer of a pocket and branches: is it the next one, below all unplaced buffers that overlap it in
// time? If yes, it lies at its floor, and their floors rise to its top. If no, it lies on one of them, and its own
// floor rises to the lowest of their tops. Pockets are independent. So the search can stay at the tightest place
// instead of rising everywhere at once, and it detects a mistake near its cause.
//
// What prunes the tree:
//   sections   the unplaced buffers of a section, piled up from their floors, exceed the capacity: no solution below
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

namespace plimsoll::placement {
namespace {

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

struct Span {
  int32_t first, last;  // sections, inclusive
};

// The sections of each item. A section ends where a buffer ends after another has begun.
struct Sections {
  std::vector<Span> spans = {};  // of items
  int32_t count = 0;
};

Sections find_sections(const Compact& problem) {
  std::vector<bool> begins(static_cast<size_t>(problem.times), false), ends(static_cast<size_t>(problem.times), false);
  for (const Item& item : problem.items) {
    begins[static_cast<size_t>(item.lower)] = true;
    ends[static_cast<size_t>(item.upper)] = true;
  }
  // number[t]: the section of time t, or the next section if t begins after the last maximal set has ended.
  std::vector<int32_t> number(static_cast<size_t>(problem.times) + 1);
  int32_t section = 0;
  bool grown = false;
  for (size_t t = 0; t < number.size() - 1; ++t) {
    if (ends[t] && grown) {
      ++section;
      grown = false;
    }
    number[t] = section;
    grown = grown || begins[t];
  }
  number.back() = section;
  Sections found{.count = section + 1};
  for (const Item& item : problem.items)
    found.spans.push_back({number[static_cast<size_t>(item.lower)], number[static_cast<size_t>(item.upper)] - 1});
  return found;
}

enum class Preference { lifetime, total, total_then_lifetime, area, size, late_end };
constexpr Preference kPreferences[] = {Preference::lifetime, Preference::total, Preference::total_then_lifetime,
                                       Preference::area,     Preference::size,  Preference::late_end};

class Search {
 public:
  Search(const Compact& problem, int64_t capacity)
      : problem_(problem), capacity_(capacity), sections_(find_sections(problem)), meets_(problem.items.size()),
        floor_(problem.items.size()), below_(problem.items.size()), rank_(problem.items.size()),
        placed_(problem.items.size()), tops_(static_cast<size_t>(sections_.count)),
        failures_(static_cast<size_t>(sections_.count)), crossing_(static_cast<size_t>(sections_.count)) {
    for (uint32_t i = 0; i < problem.items.size(); ++i)
      for (uint32_t k = 0; k < problem.items.size(); ++k)
        if (i != k && problem.items[i].meets(problem.items[k])) meets_[i].push_back(k);
  }

  // True: offsets() is a solution. False with nodes left: no solution exists.
  bool run(Preference preference, double noise, uint64_t seed, int64_t& nodes) {
    prefer(preference, noise, seed);
    std::fill(floor_.begin(), floor_.end(), 0);
    std::fill(below_.begin(), below_.end(), kNone);
    std::fill(placed_.begin(), placed_.end(), 0);
    std::fill(tops_.begin(), tops_.end(), 0);
    std::fill(crossing_.begin(), crossing_.end(), 0);
    for (const Span& span : sections_.spans)
      for (int32_t s = span.first; s < span.last; ++s) ++crossing_[static_cast<size_t>(s)];
    undo_.clear();
    saved_tops_.clear();
    pool_.resize(problem_.items.size());
    std::iota(pool_.begin(), pool_.end(), 0);
    nodes_ = &nodes;
    return pile({0, pool_.size()}, {0, sections_.count - 1}) &&
           solve_parts({0, pool_.size()}, {0, sections_.count - 1});
  }

  const std::vector<int64_t>& offsets() const { return floor_; }  // the floor of a placed item is its offset

 private:
  struct Range {
    size_t begin, end;  // range of pool_: unplaced items, sorted by floor
  };
  struct Undo {
    uint32_t item, below;
    int64_t floor;
  };

  void prefer(Preference preference, double noise, uint64_t seed) {
    std::vector<int64_t> load(static_cast<size_t>(sections_.count), 0), total(problem_.items.size(), 0);
    for (const bool known : {false, true})
      for (size_t i = 0; i < total.size(); ++i)
        for (int32_t s = sections_.spans[i].first; s <= sections_.spans[i].last; ++s) {
          if (known) total[i] = std::max(total[i], load[static_cast<size_t>(s)]);
          else load[static_cast<size_t>(s)] += problem_.items[i].size;
        }
    std::mt19937_64 random(seed);
    std::vector<std::tuple<double, double, double>> keys;
    for (size_t i = 0; i < problem_.items.size(); ++i) {
      const Item& item = problem_.items[i];
      const double shaken = 1 + noise * (static_cast<double>(random() % 1024) / 512 - 1);
      const double lifetime = static_cast<double>(item.lifetime()) * shaken, area = item.area() * shaken,
                   most = static_cast<double>(total[i]) * shaken;
      switch (preference) {
        case Preference::lifetime: keys.push_back({lifetime, area, most}); break;
        case Preference::total: keys.push_back({most, area, lifetime}); break;
        case Preference::total_then_lifetime: keys.push_back({most, lifetime, area}); break;
        case Preference::area: keys.push_back({area, most, lifetime}); break;
        case Preference::size: keys.push_back({static_cast<double>(item.size) * shaken, lifetime, most}); break;
        case Preference::late_end: keys.push_back({static_cast<double>(item.upper) * shaken, area, most}); break;
      }
    }
    std::vector<uint32_t> order(problem_.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] > keys[b]; });
    for (size_t i = 0; i < order.size(); ++i) rank_[order[i]] = static_cast<int32_t>(i);
  }

  int64_t top_of(uint32_t item) const { return floor_[item] + problem_.items[item].size; }

  // A lower bound per section: its unplaced buffers stacked, each at or above its floor, lowest floor first. Sets tops_
  // of the sections in `where`. Returns false if one exceeds the capacity.
  bool pile(Range range, Span where) {
    std::fill(tops_.begin() + where.first, tops_.begin() + where.last + 1, 0);
    int64_t* const tops = tops_.data();
    for (size_t k = range.begin; k < range.end; ++k) {
      const uint32_t i = pool_[k];
      const int64_t floor = floor_[i], size = problem_.items[i].size;
      const int32_t last = std::min(sections_.spans[i].last, where.last);
      for (int32_t s = std::max(sections_.spans[i].first, where.first); s <= last; ++s) {
        tops[s] = std::max(tops[s], floor) + size;
        if (tops[s] <= capacity_) continue;
        ++failures_[static_cast<size_t>(s)];
        return false;
      }
    }
    return true;
  }

  // The lowest item of the section with the highest pile; ties go to the section with the most failures.
  uint32_t seed_of(Range range, Span where) const {
    int32_t tightest = where.first;
    for (int32_t s = where.first + 1; s <= where.last; ++s)
      if (std::tuple(tops_[static_cast<size_t>(s)], failures_[static_cast<size_t>(s)]) >
          std::tuple(tops_[static_cast<size_t>(tightest)], failures_[static_cast<size_t>(tightest)]))
        tightest = s;
    for (size_t k = range.begin; k < range.end; ++k) {
      const Span& span = sections_.spans[pool_[k]];
      if (span.first <= tightest && tightest <= span.last) return pool_[k];
    }
    return pool_[range.begin];
  }

  // The item to try in the pocket of `seed`, or in a lower overlapping one: lowest floor, then lowest rank.
  uint32_t choose(Range range, uint32_t seed) {
    for (;;) {
      const int64_t level = top_of(seed);
      int32_t lower = problem_.items[seed].lower, upper = problem_.items[seed].upper;
      for (bool grown = true; grown;) {
        grown = false;
        for (size_t k = range.begin; k < range.end && floor_[pool_[k]] < level; ++k) {
          const Item& item = problem_.items[pool_[k]];
          if (item.lower >= upper || lower >= item.upper || (item.lower >= lower && item.upper <= upper)) continue;
          lower = std::min(lower, item.lower);
          upper = std::max(upper, item.upper);
          grown = true;
        }
      }
      uint32_t lowest = seed, chosen = seed;
      for (size_t k = range.begin; k < range.end && floor_[pool_[k]] < level; ++k) {
        const uint32_t i = pool_[k];
        if (problem_.items[i].lower >= upper || lower >= problem_.items[i].upper) continue;
        if (top_of(i) < top_of(lowest)) lowest = i;
        if (std::tuple(floor_[i], rank_[i]) < std::tuple(floor_[chosen], rank_[chosen])) chosen = i;
      }
      if (lowest == seed) return chosen;
      seed = lowest;
    }
  }

  // True if the item would lie directly on one with the same lifetime and a later rank: only the other order is tried.
  bool stacked_wrongly(uint32_t item) const {
    const uint32_t under = below_[item];
    return under != kNone && problem_.items[under].lower == problem_.items[item].lower &&
           problem_.items[under].upper == problem_.items[item].upper && rank_[under] > rank_[item];
  }

  void raise(uint32_t item, int64_t floor, uint32_t below) {
    undo_.push_back({item, below_[item], floor_[item]});
    floor_[item] = floor;
    below_[item] = below;
  }

  void take_back(size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) {
      floor_[undo_.back().item] = undo_.back().floor;
      below_[undo_.back().item] = undo_.back().below;
    }
  }

  // Places the items of one part, whose tops are computed. On failure the state is restored, except for the part's tops
  // and its order in the pool. The recursion depth is at most one per item, because unplaced items are retried in this
  // loop.
  bool solve(Range range, Span where) {
    const size_t mark = undo_.size(), saved = saved_tops_.size();
    bool found = false;
    for (;;) {
      const uint32_t chosen = choose(range, seed_of(range, where));
      if (!stacked_wrongly(chosen)) {
        if (--*nodes_ < 0) break;
        saved_tops_.insert(saved_tops_.end(), tops_.begin() + where.first, tops_.begin() + where.last + 1);
        found = place(range, where, chosen);
        std::copy(saved_tops_.begin() + static_cast<std::ptrdiff_t>(saved), saved_tops_.end(),
                  tops_.begin() + where.first);
        saved_tops_.resize(saved);
        if (found || *nodes_ < 0) break;
      }
      int64_t floor = kNowhere;
      for (const uint32_t other : meets_[chosen])
        if (!placed_[other]) floor = std::min(floor, top_of(other));
      if (floor == kNowhere) break;
      raise(chosen, floor, kNone);
      auto at =
          std::find(pool_.begin() + static_cast<std::ptrdiff_t>(range.begin), pool_.end(), chosen) - pool_.begin();
      for (; static_cast<size_t>(at) + 1 < range.end && floor_[pool_[static_cast<size_t>(at) + 1]] < floor; ++at)
        std::swap(pool_[static_cast<size_t>(at)], pool_[static_cast<size_t>(at) + 1]);
      if (!pile(range, sections_.spans[chosen])) break;
    }
    if (!found) take_back(mark);
    return found;
  }

  bool place(Range range, Span where, uint32_t chosen) {
    const int64_t top = top_of(chosen);
    const size_t mark = undo_.size();
    const Span span = sections_.spans[chosen];
    Span changed = span;
    placed_[chosen] = 1;
    for (const uint32_t other : meets_[chosen]) {
      if (placed_[other] || floor_[other] >= top) continue;
      raise(other, top, chosen);
      changed = {std::min(changed.first, sections_.spans[other].first),
                 std::max(changed.last, sections_.spans[other].last)};
    }
    // All raised items now have floor `top`, and the others are unchanged: one merge restores the order.
    const Range rest{pool_.size(), pool_.size() + (range.end - range.begin) - 1};
    bool merged = false;
    const auto merge = [&] {
      for (size_t u = mark; u < undo_.size(); ++u) pool_.push_back(undo_[u].item);
      merged = true;
    };
    for (size_t k = range.begin; k < range.end; ++k) {
      const uint32_t i = pool_[k];
      if (i == chosen || below_[i] == chosen) continue;
      if (!merged && floor_[i] > top) merge();
      pool_.push_back(i);
    }
    if (!merged) merge();

    bool cut = false;
    for (int32_t s = span.first; s < span.last; ++s) cut |= --crossing_[static_cast<size_t>(s)] == 0;
    const bool found = rest.begin == rest.end ||
                       (pile(rest, changed) && (cut ? solve_parts(rest, where) : solve(rest, where)));
    pool_.resize(rest.begin);
    if (found) return true;
    for (int32_t s = span.first; s < span.last; ++s) ++crossing_[static_cast<size_t>(s)];
    take_back(mark);
    placed_[chosen] = 0;
    return false;
  }

  // Splits the sections where no item crosses from one to the next, and solves the parts, smallest first.
  bool solve_parts(Range range, Span where) {
    struct Part {
      Span where;
      std::vector<uint32_t> items;
    };
    std::vector<Part> parts;
    std::vector<size_t> part_of(static_cast<size_t>(sections_.count), 0);
    for (int32_t s = where.first; s <= where.last; ++s) {
      if (s == where.first || crossing_[static_cast<size_t>(s) - 1] == 0) parts.push_back({{s, s}, {}});
      parts.back().where.last = s;
      part_of[static_cast<size_t>(s)] = parts.size() - 1;
    }
    for (size_t k = range.begin; k < range.end; ++k)
      parts[part_of[static_cast<size_t>(sections_.spans[pool_[k]].first)]].items.push_back(pool_[k]);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.items.size() < b.items.size(); });
    const size_t mark = undo_.size();
    for (const Part& part : parts) {
      if (part.items.empty()) continue;
      const Range items{pool_.size(), pool_.size() + part.items.size()};
      pool_.insert(pool_.end(), part.items.begin(), part.items.end());
      const bool found = solve(items, part.where);
      pool_.resize(items.begin);
      if (found) continue;
      take_back(mark);
      for (const Part& done : parts) {
        if (&done == &part) break;
        for (const uint32_t i : done.items) {
          placed_[i] = 0;
          for (int32_t s = sections_.spans[i].first; s < sections_.spans[i].last; ++s)
            ++crossing_[static_cast<size_t>(s)];
        }
      }
      return false;
    }
    return true;
  }

  const Compact& problem_;
  const int64_t capacity_;
  const Sections sections_;
  std::vector<std::vector<uint32_t>> meets_;
  std::vector<int64_t> floor_;
  std::vector<uint32_t> below_;      // the item whose top is the floor, or kNone
  std::vector<int32_t> rank_;
  std::vector<char> placed_;
  std::vector<int64_t> tops_;        // of each section: the pile of its unplaced items; 0: none
  std::vector<int64_t> failures_;    // of each section, over all runs
  std::vector<int32_t> crossing_;    // of each section: unplaced items that also live in the next one
  std::vector<uint32_t> pool_;       // lists of unplaced items of all ancestors of the current node, concatenated
  std::vector<Undo> undo_;
  std::vector<int64_t> saved_tops_;  // of all ancestors of the current node
  int64_t* nodes_ = nullptr;
};

// At least twice the number of items, which allows one descent with some backtracking.
constexpr int64_t kFirstLimit = 1000;
constexpr double kNoise = 0.02;

}  // namespace

std::optional<std::vector<int64_t>> search(const Compact& problem, int64_t capacity, int64_t& nodes) {
  Search search(problem, capacity);
  int64_t limit = std::max(kFirstLimit, 2 * static_cast<int64_t>(problem.items.size()));
  for (uint64_t turn = 0;; ++turn, limit += limit / 10)
    for (const Preference preference : kPreferences) {
      if (nodes <= 0) return std::nullopt;
      int64_t left = std::min(limit, nodes);
      nodes -= left;
      const bool found = search.run(preference, turn == 0 ? 0 : kNoise, turn, left);
      if (left > 0) nodes += left;
      if (found) return search.offsets();
      if (left >= 0) return std::nullopt;  // search space exhausted
    }
}

}  // namespace plimsoll::placement
