// The bounds on schedules (passes/search/bound.h) against schedules and plans of random graphs: over one rank or
// several, in one round or several.
#include <catch2/catch.hpp>

#include <limits>

#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

constexpr double kRounding = 1 + 1e-9;  // the bound adds the same seconds in another order

TEST_CASE("no schedule takes less time or memory than the bounds say, nor does its plan") {
  const Policy policy = find_policy("auto").value();
  int plans = 0, tight = 0, graphs = 0, waits = 0, workspaces = 0;
  for (const uint64_t seed : seeds(36)) {
    const uint64_t ranks = 1 + seed % 3;
    const int64_t batch = 1 + static_cast<int64_t>(seed % 5),
                  sub_batch = 1 + static_cast<int64_t>(seed % static_cast<uint64_t>(batch));
    CAPTURE(seed, ranks, batch, sub_batch);
    const int layers = 3 + static_cast<int>(seed % 12);
    const TaskGraph one = shared(random_graph(seed, {.layers = layers, .batch = batch, .mixed = seed % 2 == 1}), ranks);
    const TaskGraph graph = sub_batch < batch ? accumulating(one) : one;
    RandomCosts costs(seed);
    const Candidate candidate = make_candidate(graph, costs, batch, sub_batch).value();
    const schedule::Model model = ordered_model(candidate, policy);
    search::Bound bound(model);
    const int64_t least = search::bound_bytes(model);
    search::Workbench bench(model);
    double fastest = std::numeric_limits<double>::infinity();
    for (const search::State& state : search::find_frontier(model, {.effort = 0})) {
      CHECK(least <= state.outcome.peak_bytes);
      CHECK(bound.seconds(state.outcome.peak_bytes) <= state.outcome.seconds * kRounding);
      bench.evaluate(state.decisions, state.limit);
      const auto plan = plan_within(candidate, with_schedule(policy, bench.trace), state.limit);
      REQUIRE(plan.ok());
      const PlanSummary& summary = plan->summary;
      CAPTURE(state.limit, summary.arena_bytes);
      CHECK(least <= summary.arena_bytes);
      CHECK(bound.seconds(summary.arena_bytes) <= summary.iteration_seconds * kRounding);
      tight += bound.seconds(summary.arena_bytes) > 0.9 * summary.iteration_seconds;
      fastest = std::min(fastest, summary.iteration_seconds);
      ++plans;
    }
    CHECK(bound.seconds(kNoLimit) <= fastest * kRounding);
    if (ranks == 1) continue;
    // Without reductions, both bounds are lower where sums are waited for, and where workspaces of reductions count.
    schedule::Model alone = model;
    alone.reductions.clear();
    alone.reduced_after = {};
    for (size_t task = 0; task < alone.tasks.size(); ++task) alone.reduced_after.add({});
    alone.waits_for.assign(alone.tasks.size(), -1);
    CHECK(search::bound_bytes(alone) <= least);
    workspaces += search::bound_bytes(alone) < least;
    waits += search::Bound(alone).seconds(kNoLimit) < bound.seconds(kNoLimit);
    ++graphs;
  }
  CHECK(plans > 200);
  CHECK(2 * tight > plans);
  CHECK(3 * waits > graphs);
  CHECK(workspaces > 0);
}

TEST_CASE("the bounds hold where weights or their states are updated in slices") {
  const Policy policy = find_policy("auto").value();
  int plans = 0, positive = 0;
  for (const uint64_t seed : seeds(36)) {
    const int64_t batch = 1 + static_cast<int64_t>(seed % 5),
                  sub_batch = 1 + static_cast<int64_t>(seed % static_cast<uint64_t>(batch));
    const bool whole_weights = seed % 2 == 0;
    CAPTURE(seed, batch, sub_batch, whole_weights);
    const int layers = 3 + static_cast<int>(seed % 12);
    const TaskGraph one = random_graph(seed, {.layers = layers, .batch = batch, .mixed = seed % 3 == 1});
    const TaskGraph graph = planned_graph(one, (batch + sub_batch - 1) / sub_batch, 256, whole_weights);
    if (graph.slice_bytes == 0) continue;
    RandomCosts costs(seed);
    const Candidate candidate = make_candidate(graph, costs, batch, sub_batch).value();
    const schedule::Model model = ordered_model(candidate, policy);
    search::Bound bound(model);
    const int64_t least = search::bound_bytes(model);
    const double unlimited = bound.seconds(kNoLimit);
    for (const search::State& state : search::find_frontier(model, {.effort = 0})) {
      CAPTURE(state.outcome.peak_bytes);
      CHECK(least <= state.outcome.peak_bytes);
      CHECK(bound.seconds(state.outcome.peak_bytes) <= state.outcome.seconds * kRounding);
      positive += bound.seconds(state.outcome.peak_bytes) > unlimited * kRounding;
      ++plans;
    }
  }
  CHECK(plans > 100);
  CHECK(positive > 0);
}

}  // namespace
}  // namespace plimsoll
