#include "passes/schedule/copies.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <vector>

namespace plimsoll::schedule {

TEST_CASE("reservations in blocks of steps are those of step after step") {
  std::mt19937 random(3);
  int short_ones = 0, long_ones = 0;
  for (int round = 0; round < 50; ++round) {
    const auto steps = static_cast<int32_t>(1 + random() % 500);
    std::vector<int64_t> live(static_cast<size_t>(steps));
    for (int64_t& bytes : live) bytes = static_cast<int64_t>(random() % 20) + (random() % 200 == 0 ? 60 : 0);
    Reservations reservations;
    reservations.assign(live);
    for (int copy = 0; copy < 60; ++copy) {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % 3), limit = 70;
      const auto a = static_cast<int32_t>(random() % static_cast<uint32_t>(steps + 1)),
                 b = static_cast<int32_t>(random() % static_cast<uint32_t>(steps + 1));
      const int32_t begin = std::min(a, b), end = std::max(a, b);
      const auto fits = [&](int32_t step) { return live[static_cast<size_t>(step)] <= limit - bytes; };
      int32_t wanted = copy % 2 == 0 ? begin : end;
      if (copy % 2 == 0)
        for (; wanted < end && fits(wanted); ++wanted) live[static_cast<size_t>(wanted)] += bytes;
      else
        for (; wanted > begin && fits(wanted - 1); --wanted) live[static_cast<size_t>(wanted) - 1] += bytes;
      REQUIRE((copy % 2 == 0 ? reservations.add_upward(begin, end, bytes, limit)
                             : reservations.add_downward(begin, end, bytes, limit)) == wanted);
      (std::abs(wanted - (copy % 2 == 0 ? begin : end)) > 128 ? long_ones : short_ones) += 1;
    }
  }
  CHECK(short_ones > 100);
  CHECK(long_ones > 100);
}

}  // namespace plimsoll::schedule
