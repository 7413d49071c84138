#include "passes/reduce.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "fixture.h"
#include "passes/analysis/buckets.h"
#include "tests/make_plan.h"

namespace plimsoll {
namespace {

using test::chain;
using test::FakeCosts;
using test::flaw;

class RankCosts : public FakeCosts {
 public:
  explicit RankCosts(RankLink link) : link_(link) {}
  LinkRates links() const override { return {.ranks = link_}; }

 private:
  RankLink link_;
};

Plan planned(int64_t ranks, RankLink link, int64_t sub_batch = 0, const std::string& policy = "liveness",
             int64_t budget_bytes = 0) {
  TaskGraph graph = chain(4, 1024, 250'000);  // a megabyte of gradient per layer; a task takes eight milliseconds
  graph.batch = 8 * ranks;
  graph.ranks = ranks;
  RankCosts costs(link);
  const Result<Plan> plan =
      make_plan(graph, costs, {.policy = policy, .batch = 8, .sub_batch = sub_batch, .budget_bytes = budget_bytes});
  if (!plan.ok()) FAIL(plan.error().message);
  REQUIRE(flaw(*plan, graph) == "");
  return *plan;
}

std::vector<std::string> steps_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::compute && plan.tasks[step.task].kind == TaskKind::update)
      names.push_back(plan.tasks[step.task].name);
    if (step.kind != StepKind::reduce) continue;
    names.push_back("reduce");
    for (const TensorId tensor : step.bucket) names.back() += " " + plan.tensors[tensor].name;
  }
  return names;
}

TEST_CASE("batch and sub-batch of a plan are of all ranks, tensors of one") {
  const Plan one = planned(1, {}), three = planned(3, {}, 4);
  CHECK(three.batch == 24);
  CHECK(three.sub_batch == 12);
  CHECK(three.last_sub_batch == 12);
  CHECK(three.rounds == 2);
  for (const TensorId id : ids_of(one.tensors))
    if (one.tensors[id].kind == TensorKind::activation && one.tensors[id].bytes > 4)
      CHECK(2 * three.tensors[id].bytes == one.tensors[id].bytes);
}

TEST_CASE("a slow link has a bucket for each gradient, and updates come when it is through") {
  const Plan plan = planned(2, {.bytes_per_second = 3.1e7, .latency_seconds = 1e-5, .staging_bytes = 4096});
  CHECK(steps_of(plan) == std::vector<std::string>{"reduce loss", "reduce dw4", "reduce dw3", "w4.update", "reduce dw2",
                                                   "reduce dw1", "w1.update", "w2.update", "w3.update"});
  CHECK(plan.summary.reduced_bytes == 4 * 1'000'000 + 4);
  // Reductions run one after another and share one workspace.
  std::vector<int64_t> places;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::reduce) places.push_back(step.workspace.offset);
  CHECK(std::all_of(places.begin(), places.end(), [&](int64_t place) { return place == places.front(); }));
}

TEST_CASE("a link that is mostly latency gathers gradients") {
  const Plan plan = planned(2, {.bytes_per_second = 1e9, .latency_seconds = 2.5e-4, .staging_bytes = 0});
  CHECK(steps_of(plan) == std::vector<std::string>{"reduce loss", "reduce dw4 dw3 dw2", "w2.update", "w3.update",
                                                   "w4.update", "reduce dw1", "w1.update"});
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::reduce) CHECK(step.workspace.bytes == 0);
}

TEST_CASE("what the link takes is in the bound, and no schedule is sought that would be faster") {
  const RankLink link{.bytes_per_second = 1e6, .latency_seconds = 1e-5, .staging_bytes = 4096};
  const Plan free = planned(2, link, 0, "auto");
  const Plan plan = planned(2, link, 0, "auto", free.summary.arena_bytes - 1);
  CHECK(plan.summary.bound_seconds > plan.summary.reduce_seconds);
  CHECK(plan.summary.bound_seconds <= plan.summary.iteration_seconds * (1 + 1e-9));
  CHECK(plan.summary.bound_seconds > 0.99 * plan.summary.iteration_seconds);
}

TEST_CASE("what a reduction takes follows from what each rank sends") {
  const RankLink link{.bytes_per_second = 1e9, .latency_seconds = 1e-3, .staging_bytes = 1000};
  CHECK(reduction_seconds(link, 2, 1'000'000) == Approx(2e-3));
  CHECK(reduction_seconds(link, 4, 1'000'000) == Approx(2.5e-3));
  CHECK(reduction_workspace(link, 2, 100) == 2 * 256);
  CHECK(reduction_workspace(link, 2, 1 << 20) == 2 * 1024);
  CHECK(reduction_workspace(link, 1000, 4) == 2 * 4096);
}

}  // namespace
}  // namespace plimsoll
