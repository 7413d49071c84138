// Searches the whole frontier between memory and time, from the fastest schedule to the minimum-memory one. A budget
// only selects from the result, so a larger budget never gives a slower plan.
#pragma once

#include <memory>
#include <vector>

#include "passes/search/limits.h"
#include "passes/search/state.h"

namespace plimsoll::search {

struct FrontierOptions {
  int effort = 1;  // 0 to 3; each does about ten times the work of the one before
  Means means = {};               // restricted in experiments only
  int64_t pool_limit = kNoLimit;  // bytes of the host pool (Workbench)
};

// The schedules that the search finds at one memory limit. The first stretch of a segment also covers its warm-up
// limits (limits.h).
struct Stretch {
  std::vector<State> states = {};  // by falling peak bytes, then those with spare bytes
  int64_t below = kNoLimit;        // bytes of later stretches: at most this; negative: none follows
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
  // `model` must outlive this. `other`: null, or a search with the same model, means and pool limit and another effort,
  // with which start schedules are shared.
  Descent(const Model& model, const FrontierOptions& options, const Descent* other = nullptr);
  ~Descent();

  // Peak bytes of the minimum-memory schedule if it is possible(), else kNoLimit.
  int64_t minimum_bytes() const;
  bool pool_binds() const;  // the host pool's limit has changed the minimum-memory schedule or a start schedule

  // Finds the start schedules, on this number of threads. limits() is valid after this call. Repeated calls do nothing.
  void begin(const Deadline& deadline = {}, int threads = 1);
  bool complete() const;  // false: a deadline ended begin() early
  const Limits& limits() const;  // a segment has at most one stretch per limit

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

// The whole frontier, by rising peak bytes. Each schedule takes less time than all before it. Never empty. When the
// deadline passes, returns what has been found so far.
std::vector<State> find_frontier(const Model& model, const FrontierOptions& options, const Deadline& deadline = {});

}  // namespace plimsoll::search
