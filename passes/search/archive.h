// The best schedules found so far, by what they need and what they take: none is beaten by another in both.
//
//   seconds  x
//            |  x           an entry is dropped when another needs no more and takes no longer; when schedules
//            |     x  x     are handed on, the fastest of each bucket of 1/256 is
//            |           x
//            +-------------- peak bytes
#pragma once

#include <cstddef>
#include <limits>
#include <map>

#include "passes/search/state.h"

namespace plimsoll::search {

class Archive {
 public:
  void add(const State& state);

  // The fastest within `limit`, or null.
  const State* fastest(int64_t limit) const;

  // What needs least, or null.
  const State* tightest() const;

  // By rising need: each takes less time than those before it.
  std::vector<State> take();

  std::vector<State> all() const;  // by rising need

  // Those that need more than `low` and no more than `high`, by falling need.
  std::vector<State> between(int64_t low, int64_t high) const;

  // The `most` of these that need least, by rising need.
  std::vector<State> nearest_above(int64_t low, int64_t high, size_t most) const;

 private:
  // By rising need: the first, and of those behind it the fastest of each bucket. A bucket begins at the first that is outside the one
  // before it, and is 1/256 of that one's need wide.
  std::vector<const State*> apart(int64_t low, int64_t high, size_t most = std::numeric_limits<size_t>::max()) const;

  std::map<int64_t, State> by_peak_;
};

}  // namespace plimsoll::search
