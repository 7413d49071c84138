// Searches the whole trade-off between memory and time at once: from the minimum-memory schedule to the fastest one. A
// budget only selects from the result, so a larger budget never gives a slower plan.
#pragma once

#include <memory>
#include <vector>

#include "passes/search/state.h"

namespace plimsoll::search {

struct FrontierOptions {
  int effort = 1;  // 0 to 3; each does about ten times the work of the one before
  Means means = {};  // restricted to measure what a mean contributes
  int64_t pool_limit = kNoLimit;  // bytes of the host pool (Workbench)
};

// The results for one memory limit, or for the descent to it.
struct Stretch {
  std::vector<State> states = {};  // by falling peak bytes
  int64_t below = kNoLimit;  // later stretches need at most this many bytes; negative: nothing follows
  bool last = false;         // last stretch of its segment
  bool complete = true;      // false: a deadline ended the search early
  bool pool_binds = false;   // so far, the host pool's limit has changed some schedule
};

// The search split into independent segments of decreasing memory limits, with one stretch per limit. A budget needs
// only the segments at or below it. The bound (bound.h) prunes the rest. Segments run in parallel.
//
//   bytes    high |--.--.--.--|--.--.--.--|--.--.--.--| minimum
//                    segment 0    segment 1 ^ segment 2     a budget at ^: segment 1, then segment 2
class Descent {
 public:
  // `model` must outlive this. `other`: one of the same model, means and pool limit, with another effort. Its start
  // schedules are this one's, too.
  Descent(const Model& model, const FrontierOptions& options, const Descent* other = nullptr);
  ~Descent();

  // Peak bytes of the minimum-memory schedule if it is possible(), else kNoLimit.
  int64_t minimum_bytes() const;
  bool pool_binds() const;  // the host pool's limit has changed the minimum-memory schedule or a start schedule

  // Finds the start schedules. segments() is valid after this call. Repeated calls do nothing.
  void begin(const Deadline& deadline = {});
  bool complete() const;  // false: a deadline ended begin() early
  size_t segments() const;
  // The first segment that can hold schedules within `limit`.
  size_t segment_of(int64_t limit) const;
  size_t stretches(size_t segment) const;  // upper bound
  int64_t above(size_t segment) const;     // its schedules need at most this many bytes

  // Searches the next stretch of the segment. Segments may run in parallel, one thread each. The reference stays valid
  // until the segment is forgotten. Requires !ended(segment).
  const Stretch& next(size_t segment, const Deadline& deadline = {});
  bool ended(size_t segment) const;
  // The stretches that have been searched.
  size_t searched(size_t segment) const;
  const Stretch& stretch(size_t segment, size_t stretch) const;

  // Resets the segment to its initial state.
  void forget(size_t segment);
  // Resets the segments that were interrupted. Returns false if a deadline came before the segments were set up: this
  // object is then useless. No search may be running.
  bool forget_unfinished();

 private:
  struct Common;
  class Segment;
  std::unique_ptr<Common> common_;
  std::vector<std::unique_ptr<Segment>> segments_;  // null: not begun
};

// All of it at once, by rising peak bytes. Each takes less time than all before it. Never empty. After `deadline` only
// what has been found so far.
std::vector<State> find_frontier(const Model& model, const FrontierOptions& options, const Deadline& deadline = {});

}  // namespace plimsoll::search
