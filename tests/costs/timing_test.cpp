// How the profiler evaluates the runs of a kernel, some of which were disturbed.
#include "runtime/profile/timing.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

using profile::are_enough;
using profile::timing_of;

TEST_CASE("short runs are repeated until they add up, long ones until two agree") {
  const double brief = profile::kEnoughSeconds / 5.5, tiny = 1e-6, lasting = 2 * profile::kLongSeconds;
  CHECK(!are_enough({}));
  CHECK(!are_enough({brief, brief, brief, brief, brief}));
  CHECK(are_enough({brief, brief, brief, brief, brief, brief}));
  CHECK(!are_enough(std::vector<double>(profile::kMostRuns - 1, tiny)));
  CHECK(are_enough(std::vector<double>(profile::kMostRuns, tiny)));
  CHECK(!are_enough({lasting}));
  CHECK(are_enough({lasting, 1.01 * lasting}));
  CHECK(!are_enough({lasting, 1.5 * lasting}));
  CHECK(!are_enough({1.5 * lasting, lasting}));
  CHECK(are_enough({1.5 * lasting, lasting, 1.2 * lasting}));
  // Only the first run is long: the kernel is short, and the first run is one of several.
  CHECK(!are_enough({lasting, brief, brief}));
  CHECK(are_enough({lasting, brief, brief, brief, brief}));
}

TEST_CASE("a run that something disturbed moves neither the time nor its spread") {
  const profile::Timing quiet = timing_of({1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01});
  const profile::Timing disturbed = timing_of({1.00, 1.01, 9.00, 0.99, 1.02, 0.98, 1.00, 1.01});
  CHECK(quiet.left_out == 0);
  CHECK(disturbed.left_out == 1);
  CHECK(disturbed.median == quiet.median);
  CHECK(disturbed.spread == quiet.spread);
  CHECK(quiet.spread == Approx(0.01));
}

TEST_CASE("runs that differ as runs do are all counted") {
  const profile::Timing timing = timing_of({1.0, 1.1, 1.2, 1.3, 1.4});
  CHECK(timing.left_out == 0);
  CHECK(timing.median == 1.2);
  CHECK(timing.spread == Approx(0.1));
}

TEST_CASE("where a clock cannot tell most runs apart, nothing is left out") {
  const profile::Timing timing = timing_of({2.0, 2.0, 2.0, 2.0, 2.5});
  CHECK(timing.left_out == 0);
  CHECK(timing.median == 2.0);
  CHECK(timing_of({3.0}).median == 3.0);
}

}  // namespace
}  // namespace plimsoll

TEST_CASE("a time is disturbed where runs differ by much, or where other work had the processor") {
  const auto of = [](std::vector<double> seconds) { return timing_of(std::move(seconds)); };
  CHECK(!profile::is_disturbed(of({1.00, 1.01, 0.99, 1.02, 0.98}), 0.01, 5));
  CHECK(profile::is_disturbed(of({1.0, 1.9, 1.1, 2.2, 1.5}), 0.01, 5));
  CHECK(profile::is_disturbed(of({1.00, 1.01, 0.99, 1.02, 0.98}), 2.5, 5));
  CHECK(!profile::is_disturbed(of({3e-6, 8e-6, 4e-6, 9e-6, 5e-6}), 0, 1e-3));  // resolution of the clock
}

TEST_CASE("a disturbed measurement is taken again, and no more where that does not help") {
  profile::Retakes retakes;
  CHECK(retakes.may_try_again(1));
  CHECK(retakes.may_try_again(2));
  CHECK(!retakes.may_try_again(3));
  for (int i = 0; i < 7; ++i) retakes.ended(3, true);
  CHECK(retakes.may_try_again(1));
  retakes.ended(2, false);
  for (int i = 0; i < 7; ++i) retakes.ended(3, true);
  CHECK(retakes.may_try_again(1));
  retakes.ended(3, true);
  CHECK(!retakes.may_try_again(1));
}
