// How ranks meet and leave without an engine: small messages through rank 0, and a lifeline. For engines that must be
// introduced to each other, or carry only sums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/dist/lifeline.h"
#include "runtime/dist/place.h"
#include "runtime/dist/star.h"

namespace plimsoll::dist {

class Meeting {
 public:
  // Call this on all ranks at once. Throws RanksError, also if the number of ranks is not `expected`. The other
  // parameters are for the lifeline.
  Meeting(int64_t expected, const Place& place, Pulse& pulse, int64_t patience,
          Lifeline::EngineFailure engine_failure = {});
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // As in Ranks. Throw RanksError if a rank is lost.
  void broadcast(void* data, int64_t bytes) const;
  void gather(const void* mine, int64_t bytes, void* all) const;

  // On rank 0, `each` is called with the bytes of one rank after another in `part`, in rank order; the other ranks send
  // theirs.
  void collect(const void* mine, void* part, int64_t bytes, const std::function<void()>& each) const;

  // Call this on all ranks, when all are done.
  void leave();

 private:
  std::vector<Spoke> meet_again() const;

  const Place place_;
  Pulse& pulse_;
  std::vector<Spoke> spokes_;
  std::optional<Lifeline> lifeline_;
};

}  // namespace plimsoll::dist
