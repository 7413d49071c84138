// For any number of threads: steps run in order, each exactly once, without deadlocks.
#include "passes/crew.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <limits>
#include <stdexcept>

using namespace plimsoll;

TEST_CASE("each errand's steps are done once, in order, before who asks for them goes on") {
  constexpr int kErrands = 20, kSteps = 30;
  for (const int hands : {1, 2, 5}) {
    std::vector<std::vector<int>> done(kErrands);
    std::deque<std::atomic<int>> at_work(kErrands);
    std::atomic<int> together = 0;
    Crew crew(hands);
    std::vector<Errand*> errands;
    for (size_t i = 0; i < kErrands; ++i) {
      done[i].reserve(kSteps);
      errands.push_back(&crew.add(static_cast<double>(i % 7), [&, i](const std::stop_token&) {
        together += at_work[i]++ > 0;
        done[i].push_back(static_cast<int>(done[i].size()));
        --at_work[i];
        return done[i].size() < kSteps;
      }));
    }
    CAPTURE(hands);
    for (int step = 1; step <= kSteps; ++step)
      for (Errand* errand : errands) CHECK(crew.reach(*errand, step));
    for (size_t i = 0; i < kErrands; ++i) {
      CHECK(!crew.reach(*errands[i], kSteps + 1));
      CHECK(done[i].size() == kSteps);
    }
    CHECK(together == 0);
  }
}

TEST_CASE("with one hand nothing is done before it is asked for") {
  int done = 0;
  Crew crew(1);
  Errand& asked = crew.add(2, [&](const std::stop_token&) { return ++done < 3; });
  crew.add(1, [&](const std::stop_token&) { return done += 100, true; });
  CHECK(crew.reach(asked, 2));
  CHECK(done == 2);
}

TEST_CASE("who asks hears what a step has thrown, whoever did it: what nobody asks for is nobody's concern") {
  for (const int hands : {1, 3}) {
    Crew crew(hands);
    Errand& fails = crew.add(0, [step = 0](const std::stop_token&) mutable -> bool {
      if (++step == 2) throw std::runtime_error("of the second step");
      return true;
    });
    crew.add(0, [](const std::stop_token&) -> bool { throw std::runtime_error("of another"); });
    CAPTURE(hands);
    CHECK(crew.reach(fails, 1));
    CHECK_THROWS_WITH(crew.reach(fails, 2), "of the second step");
    CHECK_THROWS_WITH(crew.reach(fails, 3), "of the second step");
  }
}

TEST_CASE("helpers stop when they are asked to, and leave alone what is not wanted") {
  std::atomic<bool> began = false;
  std::atomic<int> unwanted = 0;
  {
    Crew crew(3);
    crew.want_below(10);
    Errand& last = crew.add(10, [&](const std::stop_token&) { return ++unwanted, true; });
    crew.add(1, [&](const std::stop_token& stop) {
      began = true;
      while (!stop.stop_requested()) std::this_thread::yield();
      return true;
    });
    while (!began) std::this_thread::yield();
    CHECK(unwanted == 0);
    CHECK(crew.reach(last, 4));  // runs on the calling thread
  }
  CHECK(unwanted == 4);
}

TEST_CASE("a step may add errands") {
  for (const int hands : {1, 2, 4}) {
    std::atomic<int> leaves = 0;
    Crew crew(hands);
    std::vector<Errand*> added;
    Errand& root = crew.add(0, [&](const std::stop_token&) {
      for (int i = 0; i < 8; ++i) added.push_back(&crew.add(i, [&](const std::stop_token&) { return ++leaves, false; }));
      return false;
    });
    CHECK(crew.reach(root, 1));
    for (Errand* leaf : added) CHECK(crew.reach(*leaf, 1));
    CHECK(leaves == 8);
  }
}
