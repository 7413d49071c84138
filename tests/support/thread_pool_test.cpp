// For any number of threads: steps run in order, each exactly once, without deadlocks.
#include "compiler/support/thread_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <limits>
#include <stdexcept>

using namespace plimsoll;

TEST_CASE("each step of a work item runs once, in order, before reach() returns") {
  constexpr int kItems = 20, kSteps = 30;
  for (const int threads : {1, 2, 5}) {
    std::vector<std::vector<int>> done(kItems);
    std::deque<std::atomic<int>> at_work(kItems);
    std::atomic<int> together = 0;
    ThreadPool pool(threads);
    std::vector<WorkItem*> items;
    for (size_t i = 0; i < kItems; ++i) {
      done[i].reserve(kSteps);
      items.push_back(&pool.add(static_cast<double>(i % 7), [&, i](const std::stop_token&) {
        together += at_work[i]++ > 0;
        done[i].push_back(static_cast<int>(done[i].size()));
        --at_work[i];
        return done[i].size() < kSteps;
      }));
    }
    CAPTURE(threads);
    for (int step = 1; step <= kSteps; ++step)
      for (WorkItem* item : items) CHECK(pool.reach(*item, step));
    for (size_t i = 0; i < kItems; ++i) {
      CHECK(!pool.reach(*items[i], kSteps + 1));
      CHECK(done[i].size() == kSteps);
    }
    CHECK(together == 0);
  }
}

TEST_CASE("with one thread nothing runs before it is requested") {
  int done = 0;
  ThreadPool pool(1);
  WorkItem& asked = pool.add(2, [&](const std::stop_token&) { return ++done < 3; });
  pool.add(1, [&](const std::stop_token&) { return done += 100, true; });
  CHECK(pool.reach(asked, 2));
  CHECK(done == 2);
}

TEST_CASE("idle work is done by workers alone, where they have nothing else, whatever the limit of priority") {
  std::atomic<int> idle = 0;
  {
    ThreadPool alone(1);
    alone.add_idle([&](const std::stop_token&) { return ++idle, true; });
    WorkItem& asked = alone.add(0, [](const std::stop_token&) { return true; });
    CHECK(alone.reach(asked, 5));
  }
  CHECK(idle == 0);
  ThreadPool pool(2);
  pool.limit_priority(0);
  pool.add_idle([&](const std::stop_token&) { return ++idle < 3; });
  while (idle < 3) std::this_thread::yield();
  WorkItem& asked = pool.add(0, [](const std::stop_token&) { return true; });
  CHECK(pool.reach(asked, 5));
  CHECK(idle == 3);
}

TEST_CASE("reach() rethrows an exception of its item, whichever thread ran it, and ignores those of other items") {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    WorkItem& fails = pool.add(0, [step = 0](const std::stop_token&) mutable -> bool {
      if (++step == 2) throw std::runtime_error("of the second step");
      return true;
    });
    pool.add(0, [](const std::stop_token&) -> bool { throw std::runtime_error("of another"); });
    CAPTURE(threads);
    CHECK(pool.reach(fails, 1));
    CHECK_THROWS_WITH(pool.reach(fails, 2), "of the second step");
    CHECK_THROWS_WITH(pool.reach(fails, 3), "of the second step");
  }
}

TEST_CASE("workers stop on request, and ignore items at the priority limit") {
  std::atomic<bool> began = false;
  std::atomic<int> unwanted = 0;
  {
    ThreadPool pool(3);
    pool.limit_priority(10);
    WorkItem& last = pool.add(10, [&](const std::stop_token&) { return ++unwanted, true; });
    pool.add(1, [&](const std::stop_token& stop) {
      began = true;
      while (!stop.stop_requested()) std::this_thread::yield();
      return true;
    });
    while (!began) std::this_thread::yield();
    CHECK(unwanted == 0);
    CHECK(pool.reach(last, 4));  // runs on the calling thread
  }
  CHECK(unwanted == 4);
}

TEST_CASE("a step may add work items") {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> leaves = 0;
    ThreadPool pool(threads);
    std::vector<WorkItem*> added;
    WorkItem& root = pool.add(0, [&](const std::stop_token&) {
      for (int i = 0; i < 8; ++i)
        added.push_back(&pool.add(i, [&](const std::stop_token&) { return ++leaves, false; }));
      return false;
    });
    CHECK(pool.reach(root, 1));
    for (WorkItem* leaf : added) CHECK(pool.reach(*leaf, 1));
    CHECK(leaves == 8);
  }
}
