#include <catch2/catch.hpp>

#include <random>
#include <thread>

#include "passes/place/last_solutions.h"

namespace plimsoll::placement {
namespace {

// Two neighbouring seeds differ in one size only.
Problem random_problem(unsigned seed) {
  std::mt19937 random(seed / 2);
  Problem problem;
  for (int i = 0; i < 150; ++i) {
    const int64_t lower = static_cast<int64_t>(random() % 100);
    problem.buffers.push_back({.lower = lower,
                               .upper = lower + 1 + static_cast<int64_t>(random() % 40),
                               .size = 1 + static_cast<int64_t>(random() % 1000)});
  }
  problem.buffers[30].size += 50 * (seed % 2);
  return problem;
}

}  // namespace

TEST_CASE("a solution that was kept is the one that the problem has with this effort, from any thread") {
  const Effort efforts[] = {{.scans = 0, .nodes = 0}, {.scans = 20'000, .nodes = 0}, {.scans = 0, .nodes = 400}};
  int hard = 0;  // the others are not kept
  for (unsigned seed = 0; seed < 12; ++seed)
    for (const Effort& effort : efforts)
      hard += solve(random_problem(seed), effort).height > lower_bound(random_problem(seed));
  CHECK(hard >= 18);
  LastSolutions last;
  const auto ask = [&](int& wrong) {
    for (int round = 0; round < 2; ++round)
      for (unsigned first = 0; first < 12; first += 4)  // what is asked for again is kept, or is not any more
        for (int again = 0; again < 2; ++again)
          for (unsigned seed = first; seed < first + 4; ++seed)
            for (const Effort& effort : efforts) {
              const Problem problem = random_problem(seed);
              const Solution kept = last.solve(problem, effort), solved = solve(problem, effort);
              wrong += kept.height != solved.height || kept.offsets != solved.offsets;
            }
  };
  int wrong[3] = {};
  {
    std::vector<std::jthread> threads;
    for (int& each : wrong) threads.emplace_back([&] { ask(each); });
  }
  for (const int each : wrong) CHECK(each == 0);
}

}  // namespace plimsoll::placement
