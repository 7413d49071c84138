// Run by the tests of other backends; not a test on its own.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "results.h"

namespace plimsoll::test {

TEST_CASE("results are written to PLIMSOLL_RESULTS", "[.]") {
  const char* const file = std::getenv("PLIMSOLL_RESULTS");
  REQUIRE(file != nullptr);
  for_each_sample([&](const Op& op, const Sample& sample) {
    append_results(file, std::string(op.name) + "/" + sample.name, results_of(op, sample));
  });
}

}  // namespace plimsoll::test
