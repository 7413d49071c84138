#include "compiler/ops/unique_names.h"

#include <catch2/catch.hpp>

namespace plimsoll::test {

TEST_CASE("the second of a name gets a number that makes it unique, whatever the number of threads") {
  using Changes = std::vector<std::pair<int32_t, std::string>>;
  for (const int threads : {1, 2}) {
    UniqueNames names(threads);
    int32_t next = 0;
    for (; next < 30000; ++next) names.add(next, "t" + std::to_string(next));
    for (const char* name : {"t5", "t5/3", "t5", "t5"}) names.add(next++, name);
    CHECK(names.take_changes() == Changes{{30000, "t5/2"}, {30002, "t5/4"}, {30003, "t5/5"}});
    CHECK(names.take_changes().empty());
    for (const char* name : {"t29999", "new", "t5/2"}) names.add(next++, name);
    CHECK(names.take_changes() == Changes{{30004, "t29999/2"}, {30006, "t5/2/2"}});
  }
}

}  // namespace plimsoll::test
