// Small messages between ranks by way of rank 0: for engines that need to be introduced to each other, or carry sums only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/dist/place.h"
#include "runtime/dist/star.h"

namespace plimsoll::dist {

class Meeting {
 public:
  // By all ranks at once. Throws RanksError.
  explicit Meeting(const Place& place);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // As Ranks has them. Throw RanksError where a rank is gone.
  void broadcast(void* data, int64_t bytes) const;
  void gather(const void* mine, int64_t bytes, void* all) const;

  // Of rank 0: `each` hears of the bytes of one rank after the other, in their order, in `part`; the others give theirs.
  void collect(const void* mine, void* part, int64_t bytes, const std::function<void()>& each) const;

  // Another set of connections, for a Lifeline.
  std::vector<Spoke> meet_again() const;

 private:
  const Place place_;
  std::vector<Spoke> spokes_;
};

}  // namespace plimsoll::dist
