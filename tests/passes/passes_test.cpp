// Each pass by itself, on graphs small enough to compare whole plans.
#include <catch2/catch.hpp>

#include <algorithm>

#include "fixture.h"
#include "passes/analysis/liveness.h"
#include "passes/analysis/timeline.h"
#include "passes/pipeline.h"
#include "passes/order.h"
#include "passes/seed_plan.h"
#include "passes/sync.h"

namespace plimsoll {
namespace {

using test::chain;
using test::flaw;
using test::GraphMaker;
using test::random_graph;

struct Setting {
  TaskGraph graph;
  Choices choices;
  explicit Setting(TaskGraph given, int64_t workspace = 0) : graph(std::move(given)) {
    graph.batch = 1;
    choices = Choices(graph.tasks.size(),
                      {Choice{.algorithm = "a", .workspace_bytes = workspace, .seconds = 1, .last_seconds = 1}});
  }
  Context context() const { return {.graph = graph, .choices = choices}; }
};

Plan blank() {
  Plan plan;
  plan.batch = plan.sub_batch = plan.rounds = plan.last_sub_batch = 1;
  return plan;
}

Plan run(const Context& context) {
  Plan plan = blank();
  REQUIRE(run_passes(plan, context).value());
  plan.budget_bytes = plan.summary.arena_bytes;
  REQUIRE(flaw(plan, context.graph) == "");
  return plan;
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> found;
  for (const Step& step : plan.steps)
    found.push_back(step.kind == StepKind::compute ? plan.tasks[step.task].name
                                                   : "load " + plan.tensors[step.tensor].name);
  return found;
}

const Residency& residency_of(const Plan& plan, const std::string& tensor) {
  return *std::find_if(plan.residencies.begin(), plan.residencies.end(),
                       [&](const Residency& residency) { return plan.tensors[residency.tensor].name == tensor; });
}

TEST_CASE("depth first, an update follows its gradient and the readers of its weight") {
  const Setting setting(chain(2));
  Context context = setting.context();
  context.policy.order = OrderKind::depth_first;
  CHECK(names(run(context)) ==
        std::vector<std::string>{"load x", "load labels", "conv1.forward", "relu1.forward", "conv2.forward",
                                 "relu2.forward", "loss", "relu2.backward", "conv2.backward_weights",
                                 "conv2.backward_data", "w2.update", "relu1.backward", "conv1.backward_weights",
                                 "w1.update"});
}

// Two branches of large tensors that end in small ones: finish one before starting the other.
//
//   x ─┬─ a0, b0 (large) in graph order: a0 b0 a1 b1, both large ones are live at once
//      └─ a1, b1 (small)
TEST_CASE("low peak finishes a branch before it begins another") {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, 64);
  make.graph_.inputs = {x};
  const TensorId a0 = make.activation("a0", 10000), b0 = make.activation("b0", 10000);
  const TensorId a1 = make.activation("a1", 64), b1 = make.activation("b1", 64), loss = make.activation("loss", 1);
  make.task("a0", TaskKind::forward, {x}, {a0});
  make.task("b0", TaskKind::forward, {x}, {b0});
  make.task("a1", TaskKind::forward, {a0}, {a1});
  make.task("b1", TaskKind::forward, {b0}, {b1});
  make.task("loss", TaskKind::loss, {a1, b1}, {loss});
  make.graph_.loss = loss;
  const Setting setting(std::move(make.graph_));
  Context context = setting.context();
  context.policy.order = OrderKind::depth_first;
  const int64_t before = run(context).summary.live_bytes;
  context.policy.order = OrderKind::best_of;
  const Plan plan = run(context);
  CHECK(names(plan) == std::vector<std::string>{"load x", "a0", "a1", "b0", "b1", "loss"});
  CHECK(plan.summary.live_bytes < before - 30000);
}

//   step        0 load  1 f  2 g  3 h
//   x           ####### ####
//   y  over x           #### ####          f and g may work in place; x and y die there
//   z  over y                #### ####
//   loss                          #### …   outlives the round
TEST_CASE("tensors written in place lie on the bytes of what dies there, chain-wise") {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, 1000);
  make.graph_.inputs = {x};
  const TensorId y = make.activation("y", 1000), z = make.activation("z", 900), loss = make.activation("loss", 1);
  make.task("f", TaskKind::forward, {x}, {y}, {}, {{x, y}});
  make.task("g", TaskKind::forward, {y}, {z}, {}, {{y, z}});
  make.task("h", TaskKind::loss, {z}, {loss});
  make.graph_.loss = loss;
  const Setting setting(std::move(make.graph_));
  const Plan plan = run(setting.context());
  CHECK(residency_of(plan, "x").offset == residency_of(plan, "y").offset);
  CHECK(residency_of(plan, "y").offset == residency_of(plan, "z").offset);
  CHECK(residency_of(plan, "y").first_step == 1);
  CHECK(residency_of(plan, "y").last_step == 2);
  CHECK(residency_of(plan, "loss").last_step == 4);
  CHECK(plan.summary.arena_bytes == 4096 + 256);
  CHECK(plan.summary.live_bytes == 4000);

  Context apart = setting.context();
  apart.policy.in_place = false;
  CHECK(run(apart).summary.arena_bytes == 2 * 4096);
}

TEST_CASE("a tensor that is still needed is not written over, nor one by a larger one") {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, 1000);
  make.graph_.inputs = {x};
  const TensorId y = make.activation("y", 1000), z = make.activation("z", 1001), loss = make.activation("loss", 1);
  make.task("f", TaskKind::forward, {x}, {y}, {}, {{x, y}});
  make.task("g", TaskKind::forward, {x, y}, {z}, {}, {{y, z}});
  make.task("h", TaskKind::loss, {z}, {loss});
  make.graph_.loss = loss;
  const Setting setting(std::move(make.graph_));
  const Plan plan = run(setting.context());
  CHECK(residency_of(plan, "x").offset != residency_of(plan, "y").offset);
  CHECK(residency_of(plan, "y").offset != residency_of(plan, "z").offset);
}

// Labels are loaded late, onto bytes that tasks have used before.
//
//   compute  f ──── g ──── loss
//   h2d      x             labels      labels wait for f, whose large tensor lay there
TEST_CASE("a load waits for the steps whose bytes it takes, and its reader waits for it") {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, 16), labels = make.tensor("labels", TensorKind::input, 5000);
  make.graph_.inputs = {x, labels};
  const TensorId big = make.activation("big", 5000), y = make.activation("y", 16), loss = make.activation("loss", 1);
  make.task("f", TaskKind::forward, {x}, {big});
  make.task("g", TaskKind::forward, {big}, {y});
  make.task("loss", TaskKind::loss, {y, labels}, {loss});
  make.graph_.loss = loss;
  const Setting setting(std::move(make.graph_));
  Context context = setting.context();
  context.policy.order = OrderKind::low_peak;
  Plan plan = run(context);
  REQUIRE(names(plan) == std::vector<std::string>{"load x", "f", "g", "load labels", "loss"});
  CHECK(plan.steps[StepId(1)].waits == std::vector<StepId>{StepId(0)});
  CHECK(plan.steps[StepId(3)].waits == std::vector<StepId>{StepId(2)});
  CHECK(plan.steps[StepId(4)].waits == std::vector<StepId>{StepId(3)});
  plan.steps[StepId(3)].waits.clear();
  CHECK(flaw(plan, setting.graph) != "");
}

TEST_CASE("waits that others imply are dropped, and no others") {
  Plan plan = blank();
  const auto step = [&](StreamKind stream, std::vector<int64_t> waits) {
    Step made{.stream = stream};
    for (const int64_t wait : waits) made.waits.push_back(StepId(wait));
    plan.steps.push_back(made);
  };
  const auto waits = [&](int64_t id) {
    std::vector<int64_t> found;
    for (const StepId wait : plan.steps[StepId(id)].waits) found.push_back(wait.value);
    return found;
  };
  using Ids = std::vector<int64_t>;
  step(StreamKind::h2d, {});
  step(StreamKind::compute, {0});
  step(StreamKind::compute, {0});     // 1 has already waited for 0, on this stream
  step(StreamKind::d2h, {1});
  step(StreamKind::h2d, {1, 3});      // 3 waited for 1
  step(StreamKind::h2d, {2});         // known only up to 1
  step(StreamKind::d2h, {4, 2});
  const Setting setting(chain(1));
  REQUIRE(prune_waits(plan, setting.context()).ok());
  CHECK(waits(1) == Ids{0});
  CHECK(waits(2) == Ids{});
  CHECK(waits(3) == Ids{1});
  CHECK(waits(4) == Ids{3});
  CHECK(waits(5) == Ids{2});
  CHECK(waits(6) == Ids{4, 2});
}

// A copy of 4 bytes takes 4 seconds, a task one second.
//
//   h2d      |x x x x|l l l l|
//   compute  |.......|f|.....|loss|     stalls 4 before f, 3 before the loss
TEST_CASE("the timeline runs streams beside each other and counts what computing waits") {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, 1), labels = make.tensor("labels", TensorKind::input, 1);
  make.graph_.inputs = {x, labels};
  const TensorId y = make.activation("y", 1), loss = make.activation("loss", 1);
  make.task("f", TaskKind::forward, {x}, {y});
  make.task("loss", TaskKind::loss, {y, labels}, {loss});
  make.graph_.loss = loss;
  const Setting setting(std::move(make.graph_));
  Context context = setting.context();
  context.policy.order = OrderKind::depth_first;
  context.links = {.d2h_bytes_per_second = 1, .h2d_bytes_per_second = 1};
  const Plan plan = run(context);
  CHECK(plan.steps[StepId(2)].start == 4);
  CHECK(plan.steps[StepId(3)].start == 8);
  CHECK(plan.summary.iteration_seconds == 9);
  CHECK(plan.summary.stall_seconds == 7);
}

TEST_CASE("workspaces are placed beside what is live, at every limit") {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Setting setting(random_graph(seed, 30), 3000);
    CAPTURE(seed);
    const Plan plan = run(setting.context());
    CHECK(plan.summary.arena_bytes >= plan.summary.live_bytes);
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::compute) CHECK(step.workspace.bytes == 3000);
  }
}

TEST_CASE("the fastest algorithm is noted for a task that has no memory for it") {
  Setting setting(chain(3));
  setting.choices = Choices(setting.graph.tasks.size(),
                            {{.algorithm = "quick", .workspace_bytes = 1 << 20, .seconds = 1, .last_seconds = 1},
                             {.algorithm = "small", .seconds = 2, .last_seconds = 2}});
  Context context = setting.context();
  CHECK(run(context).fastest.empty());
  context.live_limit = 0;
  const Plan plan = run(context);
  for (const TaskId task : ids_of(plan.tasks)) {
    CHECK(plan.fastest_of(task).algorithm == "quick");
    CHECK(plan.fastest_of(task).workspace_bytes == 1 << 20);
    CHECK(plan.fastest_of(task).seconds == 1);
  }
}

TEST_CASE("planning is deterministic") {
  const Setting setting(random_graph(11, 60), 500);
  const Plan a = run(setting.context()), b = run(setting.context());
  CHECK(names(a) == names(b));
  REQUIRE(a.residencies.size() == b.residencies.size());
  for (size_t i = 0; i < a.residencies.size(); ++i) CHECK(a.residencies[i].offset == b.residencies[i].offset);
}

}  // namespace
}  // namespace plimsoll
