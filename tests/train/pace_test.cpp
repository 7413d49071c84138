// Iterations that take much longer than predicted, and the resulting warnings.
#include "runtime/train/pace.h"

#include <catch2/catch.hpp>

using namespace plimsoll::train;
using Catch::Matchers::Contains;

namespace {

constexpr Pace kCalm{.seconds = 0.35, .predicted = 0.33, .threads = 2, .processors = 2};

Pace slow(Pace pace) {
  pace.seconds = 8.29;
  return pace;
}

}  // namespace

TEST_CASE("an iteration that takes three times as long as predicted is told of, and not one that takes less") {
  Pace pace = kCalm;
  CHECK(slower_than_predicted(pace).empty());
  pace.seconds = 2.99 * pace.predicted;
  CHECK(slower_than_predicted(pace).empty());
  pace.seconds = 3.01 * pace.predicted;
  CHECK_THAT(slower_than_predicted(pace), Contains("an iteration takes 993.3 ms, 3.0 times the predicted 330 ms"));
  pace.predicted = 0;
  CHECK(slower_than_predicted(pace).empty());
}

TEST_CASE("the cause that explains most is the one that is named") {
  CHECK_THAT(slower_than_predicted(slow(kCalm)), Contains("--remeasure"));
  Pace pace = slow(kCalm);
  pace.modelled = true;
  CHECK_THAT(slower_than_predicted(pace), Contains("modelled, not measured"));
  pace.queued = 0.62;
  CHECK_THAT(slower_than_predicted(pace),
             Contains("other processes use the processors") && Contains("62 % of the time"));
  pace.stalled = 0.5;
  CHECK_THAT(slower_than_predicted(pace), Contains("50 % of the time") && Contains("host pool"));
  pace.reducing = 0.5;
  CHECK_THAT(slower_than_predicted(pace), Contains("over the ranks"));
  pace.fetching = 0.9;
  CHECK_THAT(slower_than_predicted(pace), Contains("90 % of the time") && Contains("--data"));
  pace.threads = 8;
  CHECK_THAT(slower_than_predicted(pace),
             Contains("for 8 threads") && Contains("2 processors; compile with --threads 2"));
  CHECK(slower_than_predicted([&] {
          pace.seconds = pace.predicted;
          return pace;
        }()).empty());
}

TEST_CASE("more threads than processors are told of at the start") {
  CHECK(more_threads_than_processors(0, 2).empty());  // a device's plan has no threads
  CHECK(more_threads_than_processors(2, 2).empty());
  CHECK_THAT(more_threads_than_processors(4, 1),
             Contains("for 4 threads") && Contains("1 processor:") && Contains("--threads 1"));
}
