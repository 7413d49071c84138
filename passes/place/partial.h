// The partial placement of the exact search (search.h): placed items, lower bounds for the others, and an undo log.
// Private to passes/place/.
//
//   floor     the lowest offset that an unplaced item can still have
//   section   an interval of time with a constant set of live items; only maximal sets are considered
//   top       of a section: the height of its unplaced items piled up from their floors, a lower bound on its height
//   part      unplaced items that meet, directly or through others; a range of `pool`
//
// Memory is linear in the number of items, whatever the depth. The undo log has neither floors nor tops: the skyline of
// placed items and the refusals determine them, so undo() recomputes those that changed. A placement saves the stretch
// of the skyline that it covers, and later placements see one stretch there.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

class Partial {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  struct Span {
    int32_t first = std::numeric_limits<int32_t>::max(), last = -1;  // sections, inclusive
    bool meets(const Span& other) const { return first <= other.last && other.first <= last; }
    void include(const Span& other) {
      first = std::min(first, other.first);
      last = std::max(last, other.last);
    }
  };
  struct Range {
    size_t begin, end;  // of the pool
    bool empty() const { return begin == end; }
    size_t size() const { return end - begin; }
  };
  struct Part {
    Range range;
    Span where;
  };

  Partial(const Compact& problem, int64_t capacity);

  void clear();
  Part everything() const { return {{0, pool_.size()}, {0, static_cast<int32_t>(tops_.size()) - 1}}; }

  // Unplaced items of a part: by floor; among equals, refused items come first, the latest before earlier ones, and
  // then raised ones, the latest last.
  std::span<const uint32_t> items(Range range) const { return std::span(pool_).subspan(range.begin, range.size()); }
  int64_t floor_of(uint32_t item) const { return floor_[item]; }
  int64_t top_of(uint32_t item) const { return floor_[item] + sizes_[item]; }
  uint32_t below(uint32_t item) const { return history_[item].below; }
  const Span& span_of(uint32_t item) const { return spans_[item]; }
  int64_t top_at(int32_t section) const { return tops_[at(section)]; }
  int64_t failures_at(int32_t section) const { return failures_[at(section)]; }
  int32_t sections() const { return static_cast<int32_t>(tops_.size()); }
  const std::vector<int64_t>& offsets() const { return floor_; }  // of placed items

  size_t mark() const { return trail_.size(); }

  struct Placed {
    Range rest;    // the range without the item; the item follows at rest.end
    Span changed;  // the sections whose tops may have changed; they are not computed yet
    bool cut;      // whether `rest` may have several parts
  };
  Placed place(Range range, uint32_t item);

  // Decides that the item does not lie at its floor. It then lies on an unplaced item that it meets. False: there is
  // none.
  bool refuse(Range range, uint32_t item);

  // Undoes everything since the mark. Returns the sections whose tops may differ from those at the mark; they are not
  // computed yet. `split`: whether the range was split since. Requires that nothing outside of the range was placed or
  // refused since the mark.
  Span undo(Range range, size_t mark, bool split);

  // Computes the tops of the sections in `where`. False: one exceeds the capacity, and all stay as they are.
  bool pile(Range range, Span where);

  // Splits the range into parts: orders its items by part and appends the non-empty parts, those with fewest items
  // first.
  void split(Range range, Span where, std::vector<Part>& parts);

 private:
  // The skyline of placed items at a section.
  struct Top {
    int64_t height = 0;
    uint32_t under = kNone;  // the highest placed item, or kNone
  };
  struct Run {
    int32_t last;  // section
    Top top;
  };
  // The decisions about an item.
  struct History {
    int64_t turn = 0;  // orders equal floors: the trail's size when the item was raised; negative: refused
    int64_t refused = -1, refused_turn = 0;  // the floor by the latest refusal, or -1
    int64_t placed = 0;                      // the turn of the placement, or 0
    uint32_t below = kNone;                  // the placed item whose top is the floor, or kNone
  };
  struct Event {
    uint32_t item;
    uint32_t runs;        // of a placement: how many runs it covered; kNone: a refusal
    int64_t floor, turn;  // of a refusal: the one before it
  };

  std::span<uint32_t> pool(Range range) { return std::span(pool_).subspan(range.begin, range.size()); }
  bool before(uint32_t a, uint32_t b) const;
  void settle(uint32_t item);

  const int64_t capacity_;
  const std::vector<Span> spans_;
  // of items
  std::vector<int64_t> sizes_ = {};
  std::vector<int64_t> floor_;
  std::vector<History> history_;
  // of sections
  std::vector<int64_t> tops_ = {}, piled_ = {}, failures_ = {};
  std::vector<Top> skyline_ = {};
  std::vector<int32_t> crossing_ = {};  // unplaced items that also live in the next section
  std::vector<uint32_t> part_of_ = {};
  std::vector<uint32_t> pool_, changed_ = {}, merged_ = {};
  std::vector<Event> trail_ = {};
  std::vector<Run> runs_ = {};
  size_t piled_mark_ = 0;  // the mark when tops were computed last, or an earlier one since which none were
};

}  // namespace plimsoll::placement
