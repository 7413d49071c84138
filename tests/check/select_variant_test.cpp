// What the best-first search over sub-batches and schedules skips could not have won.
#include <catch2/catch.hpp>

#include "compiler/ir/plan_json.h"
#include "passes/policies.h"
#include "passes/select_variant.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

// Searches all schedules of all sub-batches exhaustively.
double fastest_of_all(Variants& variants, const Policy& policy, std::span<const int64_t> sizes, int64_t budget) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const int64_t size : sizes) {
    ScheduleSearch search(*variants.ordered(size, policy).value(), policy, 0);
    search::Descent& schedules = search.schedules;
    schedules.begin();
    const search::Limits& limits = schedules.limits();
    for (size_t segment = limits.segment_of(budget); segment < limits.segments.size(); ++segment)
      while (!schedules.ended(segment))
        for (const search::State& state : schedules.next(segment).states) {
          if (!state.outcome.fits(budget)) continue;
          const std::optional<Found> made =
              plan_of(search, state, budget, std::numeric_limits<double>::infinity(), {}).value();
          if (made) fastest = std::min(fastest, made->seconds());
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
    Variants variants(graph, costs, batch);
    Searches searches;
    const std::vector<int64_t> sizes = worthwhile_sub_batches(batch);
    const Candidate& whole = *variants.candidate(batch).value();
    const Plan free = plan_within(whole, policy, kNoLimit).value();
    for (const int percent : {85, 60, 40}) {
      CAPTURE(seed, percent);
      const int64_t budget = free.summary.arena_bytes * percent / 100;
      const double fastest = fastest_of_all(variants, policy, sizes, budget);
      Found nothing;
      nothing.plan.summary.iteration_seconds = std::numeric_limits<double>::infinity();
      const Selection selection =
          select_variant(searches, variants, policy, sizes, {.budget_bytes = budget, .effort = 0}, nothing).value();
      if (!std::isfinite(fastest)) continue;
      ++fitting;
      CHECK(selection.best.seconds() == Approx(fastest));
      CHECK(selection.best.arena() <= budget);
      CHECK(selection.bound_seconds <= selection.best.seconds());
    }
  }
  CHECK(fitting > 12);
}

std::string without_seconds_of_planning(Plan plan) {
  plan.summary.planning_seconds = 0;
  return to_json(plan);
}

TEST_CASE("a plan is the same, to the bit, with any number of threads") {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const int64_t batch = 2 + static_cast<int64_t>(seed % 4);
    const TaskGraph graph = random_graph(seed, {.layers = 6 + static_cast<int>(2 * seed), .batch = batch});
    RandomCosts costs(seed);
    // With little effort a search has only one segment.
    PlanRequest request{.policy = "auto",
                        .batch = batch,
                        .may_split_statistics = seed % 2 == 0,
                        .effort = static_cast<int>(seed % 4 == 1)};
    const Plan free = make_plan(graph, costs, request).value();
    for (const int percent : {80, 50, 0}) {
      request.budget_bytes =
          free.summary.minimum_bytes + (free.summary.arena_bytes - free.summary.minimum_bytes) * percent / 100;
      request.threads = 1;
      const std::string alone = without_seconds_of_planning(make_plan(graph, costs, request).value());
      Planner planner(graph, costs, batch);  // a reused planner finds the same
      for (const int threads : {2, 4}) {
        request.threads = threads;
        CAPTURE(seed, percent, threads);
        CHECK(without_seconds_of_planning(make_plan(graph, costs, request).value()) == alone);
        CHECK(without_seconds_of_planning(planner.plan(request).value()) == alone);
      }
    }
  }
}

TEST_CASE("what is planned for one budget does not depend on what was planned before, with any number of threads") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const TaskGraph graph = random_graph(seed, {.layers = 8 + static_cast<int>(4 * seed), .batch = 6});
    RandomCosts costs(seed);
    PlanRequest request{.policy = "auto", .batch = 6, .effort = static_cast<int>(seed % 3 == 1)};
    const Plan free = make_plan(graph, costs, request).value();
    Planner upwards(graph, costs, 6), downwards(graph, costs, 6);
    std::vector<std::string> up, down;
    for (int part = 0; part <= 8; ++part) {
      for (auto& [planner, plans, at] : {std::tuple(&upwards, &up, part), {&downwards, &down, 8 - part}}) {
        request.budget_bytes =
            free.summary.minimum_bytes + (free.summary.arena_bytes - free.summary.minimum_bytes) * at / 8;
        request.threads = 1 + part % 3;
        plans->push_back(without_seconds_of_planning(planner->plan(request).value()));
      }
    }
    std::reverse(down.begin(), down.end());
    CAPTURE(seed);
    CHECK(up == down);
  }
}

}  // namespace
}  // namespace plimsoll
