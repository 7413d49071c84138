// The recipes of moDNN and Dymem by their pieces: order, sub-batch, what leaves and when.
#include <catch2/catch.hpp>

#include <algorithm>

#include "fixture.h"
#include "passes/planner.h"

namespace plimsoll {
namespace {

using test::chain;
using test::FakeCosts;
using test::flaw;

constexpr int64_t kPerSample = 1024;

int64_t count(const Plan& plan, StepKind kind) {
  return std::count_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) { return step.kind == kind; });
}

TEST_CASE("moDNN copies nothing while there is room, and only what it must when there is little") {
  TaskGraph graph = chain(12, kPerSample);
  graph.batch = 8;
  FakeCosts costs;
  int64_t before = -1;
  const auto free = make_plan(graph, costs, {.policy = "modnn", .batch = 8, .sub_batch = 8});
  REQUIRE(free.ok());
  CHECK(count(*free, StepKind::offload) == 0);
  const int64_t least = free->summary.minimum_bytes, most = free->summary.arena_bytes;
  REQUIRE(least < most * 2 / 3);
  for (const int64_t budget : {most, (least + 3 * most) / 4, (least + most) / 2, (3 * least + most) / 4, least}) {
    CAPTURE(budget);
    const auto plan = make_plan(graph, costs, {.policy = "modnn", .batch = 8, .sub_batch = 8, .budget_bytes = budget});
    REQUIRE(plan.ok());
    CHECK(flaw(*plan, graph) == "");
    CHECK(plan->summary.arena_bytes <= budget);
    CHECK(plan->summary.offloaded_bytes >= before);
    before = plan->summary.offloaded_bytes;
  }
  CHECK(before > 0);
}

TEST_CASE("Dymem copies everything that the backward wants") {
  TaskGraph graph = chain(12, kPerSample);
  graph.batch = 8;
  FakeCosts costs;
  const auto free = make_plan(graph, costs, {.policy = "dymem", .batch = 8, .sub_batch = 8});
  REQUIRE(free.ok());
  const int64_t least = free->summary.minimum_bytes;
  REQUIRE(least < free->summary.arena_bytes);
  const auto plan = make_plan(graph, costs, {.policy = "dymem", .batch = 8, .sub_batch = 8, .budget_bytes = least});
  REQUIRE(plan.ok());
  CHECK(flaw(*plan, graph) == "");
  CHECK(count(*plan, StepKind::offload) >= 10);
  CHECK(count(*plan, StepKind::prefetch) == count(*plan, StepKind::offload));
}

}  // namespace
}  // namespace plimsoll
