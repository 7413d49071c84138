// The planner on random graphs, verified by the checker and random interleavings; and the checker on damaged versions
// of these plans.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <ranges>

#include "compiler/check/check.h"
#include "compiler/costs/needs.h"
#include "compiler/ir/plan_json.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/bound.h"
#include "tests/check/damage.h"
#include "tests/check/interleave.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

// Checks a plan, its round trip through both file formats, and some of its interleavings.
void expect_sound(const Plan& plan, const TaskGraph& graph, int interleavings) {
  CHECK(to_string(check_plan(plan)) == "");
  CHECK(to_string(check_against_graph(plan, graph)) == "");
  const auto from_json = plan_from_json(to_json(plan));
  REQUIRE(from_json.ok());
  CHECK(to_json(*from_json) == to_json(plan));
  CHECK(to_string(check_plan(*from_json)) == "");
  const std::string text = to_text(plan);
  const auto from_text = plan_from_text(text);
  REQUIRE(from_text.ok());
  CHECK(to_text(*from_text) == text);
  CHECK(to_string(check_plan(*from_text)) == "");
  for (int seed = 0; seed < interleavings; ++seed) CHECK(run_interleaved(plan, static_cast<uint64_t>(seed)) == "");
}

bool accepted_random(const Plan& plan) {
  const std::vector<Violation> violations = check_plan(plan);
  return std::all_of(violations.begin(), violations.end(),
                     [](const Violation& each) { return each.rule == Rule::summary; });
}

// A quarter of the graphs, of which every size of a graph comes up more than twice. PLIMSOLL_RANDOM_GRAPHS is the
// number of all.
void plan_soundly(uint64_t quarter) {
  const char* set = std::getenv("PLIMSOLL_RANDOM_GRAPHS");
  const uint64_t graphs = set ? std::strtoull(set, nullptr, 10) : 60;
  for (const uint64_t seed : seeds(graphs * (quarter + 1) / 4) | std::views::drop(graphs * quarter / 4)) {
    const int64_t batch = 1 + static_cast<int64_t>(seed % 7);
    const TaskGraph graph =
        shared(random_graph(seed, {.layers = 2 + static_cast<int>(seed % 23), .batch = batch, .mixed = seed % 2 == 1}),
               1 + seed % 3);
    RandomCosts costs(seed);
    Planner planner(graph, costs, batch);
    for (const Policy& recipe : all_policies()) {
      const std::string policy(recipe.name);
      CAPTURE(seed, policy);
      const auto free = planner.plan({.policy = policy, .batch = batch});
      if (!free.ok()) FAIL(free.error().message);
      expect_sound(*free, graph, 3);
      const int64_t least = free->summary.minimum_bytes, most = free->summary.arena_bytes;
      for (const int64_t budget : {least, least + (most - least) / 3, (least + most) / 2}) {
        CAPTURE(budget);
        const auto tight =
            planner.plan({.policy = policy, .batch = batch, .budget_bytes = budget, .effort = 0});
        if (!tight.ok()) FAIL(tight.error().message);
        CHECK(tight->summary.arena_bytes <= budget);
        expect_sound(*tight, graph, 3);
      }
    }
  }
}

}  // namespace

TEST_CASE("random task graphs come back from their text") {
  for (const uint64_t seed : seeds(200)) {
    CAPTURE(seed);
    const std::string text =
        to_text(random_graph(seed, {.layers = 1 + static_cast<int>(seed % 30), .mixed = seed % 2 == 1}));
    const auto graph = graph_from_text(text);
    REQUIRE(graph.ok());
    REQUIRE(to_text(*graph) == text);
  }
}

TEST_CASE("every policy plans random graphs soundly, under every budget that is possible: first quarter") {
  plan_soundly(0);
}
TEST_CASE("every policy plans random graphs soundly, under every budget that is possible: second quarter") {
  plan_soundly(1);
}
TEST_CASE("every policy plans random graphs soundly, under every budget that is possible: third quarter") {
  plan_soundly(2);
}
TEST_CASE("every policy plans random graphs soundly, under every budget that is possible: last quarter") {
  plan_soundly(3);
}

TEST_CASE("what a policy's steps alone say of its plan, the plan neither needs less than nor takes less") {
  int64_t tight = 0, all = 0;
  for (const uint64_t seed : seeds(60)) {
    const int64_t batch = 1 + static_cast<int64_t>(seed % 5),
                  sub_batch = 1 + static_cast<int64_t>(seed % static_cast<uint64_t>(batch));
    const TaskGraph one =
        random_graph(seed, {.layers = 2 + static_cast<int>(seed % 23), .batch = batch, .mixed = seed % 2 == 1});
    const TaskGraph graph = sub_batch < batch ? accumulating(one) : one;
    RandomCosts costs(seed);
    const auto candidate = make_candidate(graph, costs, batch, sub_batch);
    REQUIRE(candidate.ok());
    for (const Policy& policy : all_policies()) {
      if (policy.searches || !policy.share_memory) continue;
      const schedule::Model ordered = ordered_model(*candidate, policy);
      const int64_t bound = search::bound_bytes(ordered);
      for (const int64_t limit : {kNoLimit, int64_t{0}, int64_t{200'000}}) {
        CAPTURE(seed, policy.name, limit);
        const LowerBounds least = lower_bounds_of(*candidate, policy, limit, ordered);
        const auto plan = plan_within(*candidate, policy, limit);
        REQUIRE(plan.ok());
        CHECK(least.arena_bytes <= plan->summary.arena_bytes);
        CHECK(least.seconds <= plan->summary.iteration_seconds);
        CHECK(bound <= least.arena_bytes);
        tight +=
            least.arena_bytes == plan->summary.arena_bytes && least.seconds > 0.99 * plan->summary.iteration_seconds;
        ++all;
      }
    }
  }
  CHECK(3 * tight > all);
}

TEST_CASE("a damaged plan of the planner is refused, or goes wrong in no interleaving") {
  for (const uint64_t seed : seeds(6)) {
    const TaskGraph graph = shared(random_graph(seed, {.layers = 5, .batch = 4, .mixed = seed % 4 > 1}), 1 + seed % 2);
    for (const Policy& recipe : all_policies()) {
      const std::string policy(recipe.name);
      RandomCosts costs(seed);
      const auto free = make_plan(graph, costs, {.policy = policy, .batch = 4});
      REQUIRE(free.ok());
      auto plan = make_plan(graph, costs,
                            {.policy = policy,
                             .batch = 4,
                             .budget_bytes = (free->summary.minimum_bytes + free->summary.arena_bytes) / 2,
                             .effort = 0});
      REQUIRE(plan.ok());
      note_needs(*plan, planned_graph(graph, plan->rounds, plan->slice_bytes, plan->whole_weights), costs);
      size_t refused = 0;
      const std::vector<Damaged> all = damages_of(*plan);
      for (const Damaged& damaged : all) {
        if (!accepted_random(damaged.plan)) {
          ++refused;
          continue;
        }
        CAPTURE(seed, policy, damaged.what);
        CHECK_FALSE(damaged.what.ends_with(" runs another algorithm"));  // no interleaving can detect it
        CHECK_FALSE((damaged.what.starts_with("the workspace of ") && damaged.what.ends_with(" bytes") &&
                     !damaged.what.starts_with("the workspace of reduce:")));
        for (uint64_t run = 0; run < 10; ++run) CHECK(run_interleaved(damaged.plan, run) == "");
      }
      CHECK(refused > all.size() / 2);
    }
  }
}

TEST_CASE("ten thousand steps are judged") {
  const TaskGraph graph = random_graph(7, {.layers = 4300, .batch = 4});
  RandomCosts costs(7);
  const auto plan = make_plan(graph, costs, {.policy = "liveness", .batch = 4, .sub_batch = 4});
  REQUIRE(plan.ok());
  CHECK(plan->steps.size() > 10000);
  CHECK(to_string(check_plan(*plan)) == "");
}
