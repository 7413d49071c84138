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

TEST_CASE("copies have their items in common until one of them is changed") {
  SharedIdVector<TaskId, int> first;
  CHECK(first.empty());
  CHECK(!first.contains(TaskId(0)));
  CHECK(first.push_back(7) == TaskId(0));
  first.push_back(8);
  SharedIdVector<TaskId, int> second = first;
  const int* const item = &second[TaskId(1)];
  CHECK(item == &first[TaskId(1)]);

  second.edit(TaskId(1)) = 9;
  CHECK(first[TaskId(1)] == 8);
  CHECK(second[TaskId(1)] == 9);
  CHECK(&second[TaskId(1)] != &first[TaskId(1)]);
  CHECK(item == &first[TaskId(1)]);  // the items that were in common stay with the other copy

  const int* const own = &second[TaskId(0)];
  second.edit(TaskId(0)) = 1;  // no longer in common: changed in place
  CHECK(own == &second[TaskId(0)]);
  CHECK(second.size() == 2);
  CHECK(first[TaskId(0)] == 7);
}

}  // namespace
}  // namespace plimsoll
