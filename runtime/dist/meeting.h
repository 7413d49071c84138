// How ranks meet without an engine, and leave: small messages by way of rank 0, and a lifeline beside them. For engines that
// need to be introduced to each other, or carry sums only.
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
  // By all ranks at once. Throws RanksError, also where they are not `expected`. The rest is of the lifeline.
  Meeting(int64_t expected, const Place& place, Pulse& pulse, int64_t patience, Lifeline::EngineFailure engine_failure = {});
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // As Ranks has them. Throw RanksError where a rank is gone.
  void broadcast(void* data, int64_t bytes) const;
  void gather(const void* mine, int64_t bytes, void* all) const;

  // Of rank 0: `each` hears of the bytes of one rank after the other, in their order, in `part`; the others give theirs.
  void collect(const void* mine, void* part, int64_t bytes, const std::function<void()>& each) const;

  // By all ranks, when all are done.
  void leave();

 private:
  std::vector<Spoke> meet_again() const;

  const Place place_;
  Pulse& pulse_;
  std::vector<Spoke> spokes_;
  std::optional<Lifeline> lifeline_;
};

}  // namespace plimsoll::dist
