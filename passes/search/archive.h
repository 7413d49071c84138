// The Pareto set of the schedules found so far, by peak bytes and seconds: no entry is beaten by another in both.
//
//   seconds  x
//            |  x           an entry is dropped when another is no worse in both; between() returns only
//            |     x  x     the fastest of each bucket of 1/256
//            |           x
//            +-------------- peak bytes
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "passes/search/state.h"

namespace plimsoll::search {

class Archive {
 public:
  void add(const State& state);

  // The fastest entry within `limit` bytes, if any. A copy, because the next add() may drop the entry.
  std::optional<State> fastest(int64_t limit) const;

  // The entry with the fewest bytes, if any.
  std::optional<State> tightest() const;

  // Entries with peak bytes in (low, high], by rising peak bytes: the first entry, then the fastest of each bucket, at
  // most `most` in all. A bucket begins at the first entry outside the previous bucket; its width is 1/256 of that
  // entry's bytes. Each entry takes less time than all before it.
  std::vector<State> between(int64_t low, int64_t high, size_t most = std::numeric_limits<size_t>::max()) const;

 private:
  std::map<int64_t, State> by_peak_;
};

}  // namespace plimsoll::search
