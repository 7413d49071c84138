// Depth-first search over canonical solutions, after Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning" (ASPLOS 2023). Buffers are placed from the bottom up, each as low as those
// below it allow, so a solution is a sequence; of the many sequences with one outcome only the sorted one is tried.
//
//   floor     the lowest offset an unplaced buffer can still have: the highest top of placed buffers that it meets
//   section   a stretch of time in which the same buffers are live; only those that no neighbour contains are looked at
//
// What cuts the tree:
//   sections   a section's unplaced buffers, piled up from their floors, exceed the capacity: no solution below here
//   dominance  nothing is placed at or above the lowest top that some unplaced buffer could have: it would fit below
//   hatless    a buffer that meets no unplaced one cannot be the reason of a failure above it: no alternatives
//   parts      unplaced buffers that a moment separates are solved apart, and fail apart
// Orders of trying are static, taken in turns with doubling limits, because none is good at every problem: of the
// challenging eight of that paper, each is the only quick one for some.
#include "passes/place/search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace plimsoll::placement {
namespace {

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

struct Span {
  int32_t first, last;  // sections, inclusive
};

// An item's sections. A section ends where a buffer ends after another has begun.
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
  // number[t]: the section that time t lies in, or the next one when t begins after the last maximal set has broken up.
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
        floor_(problem.items.size(), 0), rank_(problem.items.size()), placed_(problem.items.size(), false),
        section_top_(static_cast<size_t>(sections_.count)) {
    for (uint32_t i = 0; i < problem.items.size(); ++i)
      for (uint32_t k = 0; k < problem.items.size(); ++k)
        if (i != k && problem.items[i].meets(problem.items[k])) meets_[i].push_back(k);
  }

  // True: offsets() is a solution. False with nodes left: there is none.
  bool run(Preference preference, int64_t& nodes) {
    prefer(preference);
    std::fill(floor_.begin(), floor_.end(), 0);
    std::fill(placed_.begin(), placed_.end(), false);
    std::vector<uint32_t> all(problem_.items.size());
    std::iota(all.begin(), all.end(), 0);
    nodes_ = &nodes;
    return solve(all, 0, -1);
  }

  const std::vector<int64_t>& offsets() const { return floor_; }  // of placed items, the floor is the offset

 private:
  void prefer(Preference preference) {
    std::vector<int64_t> load(static_cast<size_t>(sections_.count), 0), total(problem_.items.size(), 0);
    for (const bool known : {false, true})
      for (size_t i = 0; i < total.size(); ++i)
        for (int32_t s = sections_.spans[i].first; s <= sections_.spans[i].last; ++s) {
          if (known) total[i] = std::max(total[i], load[static_cast<size_t>(s)]);
          else load[static_cast<size_t>(s)] += problem_.items[i].size;
        }
    std::vector<uint32_t> order = all_items();
    const auto key = [&](uint32_t i) {
      const Item& item = problem_.items[i];
      const double lifetime = static_cast<double>(item.lifetime()), area = item.area(), most = static_cast<double>(total[i]);
      switch (preference) {
        case Preference::lifetime: return std::tuple(lifetime, area, most);
        case Preference::total: return std::tuple(most, area, lifetime);
        case Preference::total_then_lifetime: return std::tuple(most, lifetime, area);
        case Preference::area: return std::tuple(area, most, lifetime);
        case Preference::size: return std::tuple(static_cast<double>(item.size), lifetime, most);
        case Preference::late_end: break;
      }
      return std::tuple(static_cast<double>(item.upper), area, most);
    };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) > key(b); });
    for (size_t i = 0; i < order.size(); ++i) rank_[order[i]] = static_cast<int32_t>(i);
  }

  std::vector<uint32_t> all_items() const {
    std::vector<uint32_t> all(problem_.items.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Within a section the unplaced buffers lie one above the other, each from its floor on, and nothing below the last
  // offset; lowest floor first is the lowest pile they can make.
  bool hopeless(const std::vector<uint32_t>& items, int64_t last_offset) {
    by_floor_.clear();
    for (const uint32_t i : items) {
      by_floor_.push_back({std::max(floor_[i], last_offset), i});
      for (int32_t s = sections_.spans[i].first; s <= sections_.spans[i].last; ++s) section_top_[static_cast<size_t>(s)] = 0;
    }
    std::sort(by_floor_.begin(), by_floor_.end());
    for (const auto& [floor, i] : by_floor_) {
      const int64_t size = problem_.items[i].size;
      int64_t highest = 0;
      for (int32_t s = sections_.spans[i].first; s <= sections_.spans[i].last; ++s) {
        int64_t& top = section_top_[static_cast<size_t>(s)];
        top = std::max(top, floor) + size;
        highest = std::max(highest, top);
      }
      if (highest > capacity_) return true;
    }
    return false;
  }

  // Cuts `items`, sorted by first section, where no section is common to both sides.
  std::vector<std::vector<uint32_t>> parts_of(std::vector<uint32_t> items) const {
    std::sort(items.begin(), items.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(sections_.spans[a].first, a) < std::tuple(sections_.spans[b].first, b);
    });
    std::vector<std::vector<uint32_t>> parts;
    int32_t reach = -1;
    for (const uint32_t i : items) {
      if (sections_.spans[i].first > reach) parts.emplace_back();
      parts.back().push_back(i);
      reach = std::max(reach, sections_.spans[i].last);
    }
    return parts;
  }

  // Places all of `items`, none before (last_offset, last_rank) in the order of the sequence. A failure leaves the
  // state as it was. Depth: one level per item and per cut.
  bool solve(const std::vector<uint32_t>& items, int64_t last_offset, int32_t last_rank) {
    if (items.empty()) return true;
    if (hopeless(items, last_offset)) return false;
    std::vector<std::vector<uint32_t>> parts = parts_of(items);
    if (parts.size() == 1) return solve_part(parts[0], last_offset, last_rank);
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    std::vector<int64_t> floors;
    for (const uint32_t i : items) floors.push_back(floor_[i]);
    for (const std::vector<uint32_t>& part : parts) {
      if (solve_part(part, last_offset, last_rank)) continue;
      for (size_t k = 0; k < items.size(); ++k) {
        floor_[items[k]] = floors[k];
        placed_[items[k]] = false;
      }
      return false;
    }
    return true;
  }

  bool solve_part(const std::vector<uint32_t>& items, int64_t last_offset, int32_t last_rank) {
    int64_t lowest_top = kNowhere;
    for (const uint32_t i : items) lowest_top = std::min(lowest_top, floor_[i] + problem_.items[i].size);
    std::vector<std::tuple<int64_t, int32_t, uint32_t>> candidates;
    for (const uint32_t i : items)
      if (floor_[i] < lowest_top && std::tuple(floor_[i], rank_[i]) > std::tuple(last_offset, last_rank))
        candidates.push_back({floor_[i], rank_[i], i});
    std::sort(candidates.begin(), candidates.end());
    std::vector<uint32_t> rest;
    std::vector<std::pair<uint32_t, int64_t>> raised;
    for (const auto& [offset, rank, chosen] : candidates) {
      if (--*nodes_ < 0) return false;
      const int64_t top = offset + problem_.items[chosen].size;
      bool hatless = true;
      raised.clear();
      placed_[chosen] = true;
      for (const uint32_t other : meets_[chosen]) {
        if (placed_[other]) continue;
        hatless = false;
        if (floor_[other] >= top) continue;
        raised.push_back({other, floor_[other]});
        floor_[other] = top;
      }
      rest.clear();
      for (const uint32_t i : items)
        if (i != chosen) rest.push_back(i);
      if (solve(rest, offset, rank)) return true;
      for (const auto& [other, floor] : raised) floor_[other] = floor;
      placed_[chosen] = false;
      if (hatless) return false;
    }
    return false;
  }

  const Compact& problem_;
  const int64_t capacity_;
  const Sections sections_;
  std::vector<std::vector<uint32_t>> meets_;
  std::vector<int64_t> floor_;
  std::vector<int32_t> rank_;
  std::vector<bool> placed_;
  std::vector<int64_t> section_top_;
  std::vector<std::pair<int64_t, uint32_t>> by_floor_;
  int64_t* nodes_ = nullptr;
};

}  // namespace

std::optional<std::vector<int64_t>> search(const Compact& problem, int64_t capacity, int64_t& nodes) {
  Search search(problem, capacity);
  for (int64_t limit = 1000; nodes > 0; limit *= 2)
    for (const Preference preference : kPreferences) {
      int64_t left = std::min(limit, nodes);
      nodes -= left;
      const bool found = search.run(preference, left);
      if (left > 0) nodes += left;
      if (found) return search.offsets();
      if (left >= 0) return std::nullopt;  // looked everywhere
    }
  return std::nullopt;
}

}  // namespace plimsoll::placement
