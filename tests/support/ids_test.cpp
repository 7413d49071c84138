#include "compiler/support/ids.h"

#include <catch2/catch.hpp>

#include <limits>

namespace plimsoll {
namespace {

TEST_CASE("an id of more than 32 bits is refused, not cut") {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  CHECK(TaskId(kMost).value == kMost);
  CHECK(!TaskId(-1).valid());
  CHECK_THROWS_AS(TaskId(kMost + 1), InternalError);
  CHECK_THROWS_AS(StepId(int64_t{1} << 32), InternalError);          // would be step 0
  CHECK_THROWS_AS(TensorId((int64_t{1} << 32) - 1), InternalError);  // would be no tensor
  CHECK_THROWS_WITH(NodeId(int64_t{1} << 40), Catch::Contains("an id of 1099511627776 needs more than 32 bits"));
}

}  // namespace
}  // namespace plimsoll
