// Planning continues from the text of a plan after any pass: for random graphs, also on several ranks, in rounds and in
// slices.
#include "passes/resume.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "compiler/ir/plan_json.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

std::string without_planning_time(Plan plan) {
  plan.summary.planning_seconds = 0;
  return to_json(plan);
}

}  // namespace

TEST_CASE("planning continues from the text after each pass on a random graph, and gives the same plan") {
  int in_slices = 0, in_rounds = 0, on_ranks = 0;
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6, 22}) {
    const int64_t batch = 1 + static_cast<int64_t>(seed % 7);
    const TaskGraph graph =
        shared(random_graph(seed, {.layers = 2 + static_cast<int>(seed % 23), .batch = batch, .mixed = seed % 2 == 1}),
               1 + seed % 3);
    RandomCosts costs(seed);
    const Plan free = make_plan(graph, costs, {.policy = "auto", .batch = batch}).value();
    for (const int64_t budget : {free.summary.minimum_bytes, free.summary.arena_bytes}) {
      const PlanRequest request{
          .policy = "auto", .batch = batch, .budget_bytes = budget, .may_split_statistics = seed % 2 == 0, .effort = 0};
      std::vector<std::string> texts;
      PlanRequest heard = request;
      heard.observe = [&](const UnfinishedPlan& unfinished) {
        texts.push_back(to_text(unfinished));
        return true;
      };
      const Plan plan = make_plan(graph, costs, heard).value();
      REQUIRE(texts.size() == all_passes().size());
      in_slices += plan.slice_bytes > 0;
      in_rounds += plan.rounds > 1;
      on_ranks += plan.ranks > 1;
      for (const std::string& text : texts) {
        const Result<UnfinishedPlan> read = unfinished_plan_from_text(text);
        REQUIRE(read.ok());
        CAPTURE(seed, budget, read->after);
        CHECK(to_text(*read) == text);
        const Result<Plan> continued = Planner(graph, costs, batch).plan_from(*read, request);
        if (!continued.ok()) FAIL(continued.error().message);
        CHECK(without_planning_time(*continued) == without_planning_time(plan));
      }
    }
  }
  CHECK(in_slices > 0);
  CHECK(in_rounds > 0);
  CHECK(on_ranks > 0);
}

}  // namespace plimsoll
