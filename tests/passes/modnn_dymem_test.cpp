// The policies of moDNN and Dymem in parts: order, sub-batch, what leaves and when.
#include <catch2/catch.hpp>

#include <algorithm>

#include "fixture.h"
#include "passes/candidate.h"
#include "passes/order.h"
#include "passes/policies/schedules.h"
#include "passes/seed_plan.h"
#include "tests/make_plan.h"

namespace plimsoll {
namespace {

using test::chain;
using test::FakeCosts;
using test::flaw;
using test::GraphMaker;

constexpr int64_t kPerSample = 1024, kMap = 4 * kPerSample;  // bytes of a feature map of one sample

int64_t count(const Plan& plan, StepKind kind) {
  return std::count_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) { return step.kind == kind; });
}

// Fetches that were evicted before any task read them.
int64_t came_for_nothing(const Plan& plan) {
  int64_t found = 0;
  std::vector<bool> waits(plan.tensors.size(), false);
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::compute)
      for (const TensorId read : plan.tasks[step.task].reads) waits[static_cast<size_t>(read.value)] = false;
    if (step.kind != StepKind::prefetch) continue;
    found += waits[static_cast<size_t>(step.tensor.value)];
    waits[static_cast<size_t>(step.tensor.value)] = true;
  }
  return found;
}

//   x ─ fork ─┬─ a1 ─ a2 ─┬─ join      listed breadth first: fork a1 b1 a2 b2 join
//             └─ b1 ─ b2 ─┘
TaskGraph fork_and_join() {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, 64);
  make.graph_.inputs = {x};
  const auto layer = [&](const std::string& name, std::vector<TensorId> reads) {
    const TensorId y = make.activation(name, 64);
    make.task(name, TaskKind::forward, std::move(reads), {y});
    return y;
  };
  const TensorId fork = layer("fork", {x});
  const TensorId a1 = layer("a1", {fork}), b1 = layer("b1", {fork}), a2 = layer("a2", {a1}), b2 = layer("b2", {b1});
  layer("join", {a2, b2});
  make.graph_.batch = 1;
  return make.graph_;
}

TEST_CASE("Dymem, algorithm 1: a branch is walked to its end, and a join runs when its last branch arrives") {
  const TaskGraph graph = fork_and_join();
  const Choices choices(graph.tasks.size(), {Choice{}});
  const Context context{.graph = graph, .choices = choices, .policy = {.order = OrderKind::arrivals}};
  Plan plan;
  plan.batch = plan.sub_batch = plan.rounds = plan.last_sub_batch = 1;
  REQUIRE(seed_plan(plan, context).ok());
  REQUIRE(order(plan, context).ok());
  std::vector<std::string> tasks;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::compute) tasks.push_back(plan.tasks[step.task].name);
  CHECK(tasks == std::vector<std::string>{"fork", "a1", "a2", "b1", "b2", "join"});
}

TEST_CASE("moDNN, equation 3: the sub-batch whose largest task fits beside what resides") {
  const TaskGraph graph = chain(4, kPerSample);
  const TaskGraph several = accumulating(graph);
  FakeCosts costs;
  std::map<int64_t, Candidate> made;
  const auto costs_of = [&](int64_t size) -> Result<SubBatchCosts> {
    Result<Candidate> one = make_candidate(size == 64 ? graph : several, costs, 64, size);
    if (!one.ok()) return one.error();
    const Candidate& candidate = made.insert_or_assign(size, std::move(*one)).first->second;
    return SubBatchCosts{*candidate.graph, candidate.choices};
  };
  // SW: four weights and four gradients of 256 floats. The largest task has three maps: a gradient, its input, and the
  // gradient that it writes.
  int64_t resident = 0;
  for (const Tensor& tensor : several.tensors)
    if (tensor.persistent) resident += tensor.bytes(1);
  int64_t maps = 0;
  for (const Task& task : graph.tasks) {
    int64_t bytes = 0;
    for (const Operand& operand : task.operands)
      if (graph.tensors[operand.tensor].type.depends_on_batch()) bytes += graph.tensors[operand.tensor].bytes(1);
    maps = std::max(maps, bytes / kMap);
  }
  REQUIRE(maps >= 2);
  for (const int64_t size : {1, 2, 7, 31, 63}) {
    CAPTURE(size);
    const int64_t just = resident + size * maps * kMap + 1024;  // some tasks have a few more bytes
    CHECK(*modnn_sub_batch(costs_of, 64, just) == size);
  }
  CHECK(*modnn_sub_batch(costs_of, 64, int64_t{1} << 40) == 64);
  CHECK(*modnn_sub_batch(costs_of, 64, 1) == 1);
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
    CHECK(came_for_nothing(*plan) == 0);
    before = plan->summary.offloaded_bytes;
  }
  CHECK(before > 0);
}

TEST_CASE("Dymem takes its addresses from a pool with two ends, and copies everything that the backward wants") {
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
