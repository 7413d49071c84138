// What the contest of splits and schedules leaves out could not have won.
#include <catch2/catch.hpp>

#include "passes/contest.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

// Every schedule of every split, searched to the end.
double fastest_of_all(Splits& splits, const Policy& policy, std::span<const int64_t> sizes, int64_t budget) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const int64_t size : sizes) {
    Joint joint(*splits.candidate(size).value(), policy, 0);
    while (std::isfinite(joint.rest_seconds(kNoLimit))) joint.search_on({});
    for (const search::State& state : joint.found()) {
      if (!state.outcome.fits(budget)) continue;
      const std::optional<JointPlan> made = joint.plan(state, budget, std::numeric_limits<double>::infinity(), {}).value();
      if (made) fastest = std::min(fastest, made->plan.summary.iteration_seconds);
    }
  }
  return fastest;
}

TEST_CASE("the winner of the contest is as fast as the fastest of all schedules of all splits") {
  const Policy policy = find_policy("auto").value();
  int fitting = 0;
  for (const uint64_t seed : seeds(12)) {
    const int64_t batch = 2 + static_cast<int64_t>(seed % 7);
    const TaskGraph graph = random_graph(seed, {.layers = 4 + static_cast<int>(seed), .batch = batch});
    RandomCosts costs(seed);
    Splits splits(graph, costs, batch);
    const std::vector<int64_t> sizes = worthwhile_splits(batch);
    const Candidate& whole = *splits.candidate(batch).value();
    const Plan free = plan_within(whole, policy, kNoLimit, {}, nullptr).value();
    for (const int percent : {85, 60, 40}) {
      CAPTURE(seed, percent);
      const int64_t budget = free.summary.arena_bytes * percent / 100;
      const double fastest = fastest_of_all(splits, policy, sizes, budget);
      Found nothing;
      nothing.plan.summary.iteration_seconds = std::numeric_limits<double>::infinity();
      const Winner winner = hold_contest(splits, policy, sizes, {.budget_bytes = budget, .effort = 0}, nothing).value();
      if (!std::isfinite(fastest)) continue;
      ++fitting;
      CHECK(winner.best.seconds() == Approx(fastest));
      CHECK(winner.best.arena() <= budget);
      CHECK(winner.bound_seconds <= winner.best.seconds());
    }
  }
  CHECK(fitting > 12);
}

}  // namespace
}  // namespace plimsoll
