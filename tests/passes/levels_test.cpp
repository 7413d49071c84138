#include "passes/schedule/levels.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <random>

namespace plimsoll::schedule {

TEST_CASE("levels are what a plain list of them would be") {
  std::mt19937_64 random(1);
  int near = 0, far = 0;
  for (const int32_t steps : {1, 63, 64, 65, 500, 4096, 9000}) {
    std::vector<int64_t> plain;
    for (int32_t step = 0; step < steps; ++step) plain.push_back(static_cast<int64_t>(random() % 1000));
    Levels levels;
    levels.assign(plain);
    for (int turn = 0; turn < 200; ++turn) {
      int32_t begin = static_cast<int32_t>(random() % static_cast<uint64_t>(steps + 1)),
              end = static_cast<int32_t>(random() % static_cast<uint64_t>(steps + 1));
      if (begin > end) std::swap(begin, end);
      const int64_t bytes = static_cast<int64_t>(random() % 2001) - 1000;
      levels.add(begin, end, bytes);
      for (int32_t step = begin; step < end; ++step) plain[static_cast<size_t>(step)] += bytes;
      const auto highest = std::max_element(plain.begin(), plain.end());
      CAPTURE(steps, turn, begin, end);
      REQUIRE(levels.highest() == highest - plain.begin());
      REQUIRE(levels[levels.highest()] == *highest);
      const int64_t limit = *highest - static_cast<int64_t>(random() % 500);
      const auto above = [&](int64_t level) { return level > limit; };
      const auto first = plain.begin() + begin, last = plain.begin() + end, found = std::find_if(first, last, above);
      REQUIRE(levels.exceeds(begin, end, limit) == (found != last));
      REQUIRE(levels.first_above(begin, end, limit) == found - plain.begin());
      const auto behind = std::find_if(std::reverse_iterator(last), std::reverse_iterator(first), above).base();
      REQUIRE(levels.after_last_above(begin, end, limit) == behind - plain.begin());
      (found - first > 128 || last - behind > 128 ? far : near) += 1;
    }
  }
  CHECK(near > 100);
  CHECK(far > 100);
}

}  // namespace plimsoll::schedule
