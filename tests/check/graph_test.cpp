// A plan implements its own graph and no other: any difference in its tensors or tasks is refused. The figures of the
// summary must agree with the steps.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/check/check.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

struct Answer {
  TaskGraph graph;
  Plan plan;
};

Answer answer(uint64_t seed, const char* policy) {
  Answer made{.graph = random_graph(seed, {.layers = 8, .batch = 4}), .plan = {}};
  RandomCosts costs(seed);
  const auto free = make_plan(made.graph, costs, {.policy = policy, .batch = 4, .sub_batch = 4});
  REQUIRE(free.ok());
  made.plan = make_plan(made.graph, costs,
                        {.policy = policy, .batch = 4, .sub_batch = 4, .budget_bytes = free->summary.minimum_bytes})
                  .value();
  REQUIRE(to_string(check_against_graph(made.plan, made.graph)) == "");
  return made;
}

bool names_a(Rule rule, const std::vector<Violation>& violations) {
  return std::any_of(violations.begin(), violations.end(), [&](const Violation& each) { return each.rule == rule; });
}

}  // namespace

TEST_CASE("what a plan says of its tensors and tasks is what the graph says") {
  int again = 0;
  for (const uint64_t seed : seeds(4)) {
    const Answer good = answer(seed, "superneurons:memory");
    const auto refused = [&](const char* what, auto damage) {
      CAPTURE(seed, what);
      Plan plan = good.plan;
      damage(plan);
      CHECK(names_a(Rule::graph, check_against_graph(plan, good.graph)));
    };
    refused("batch", [](Plan& p) { p.batch += 1; });
    refused("ranks", [](Plan& p) { p.ranks += 1; });
    refused("a tensor more", [](Plan& p) { p.tensors.push_back({.name = "more", .bytes = 256}); });
    refused("a task more", [](Plan& p) { p.tasks.push_back({.name = "more"}); });
    for (const TensorId id : ids_of(good.plan.tensors)) {
      INFO(good.plan.tensors[id].name);
      refused("name", [&](Plan& p) { p.tensors.edit(id).name += "'"; });
      refused("kind", [&](Plan& p) {
        p.tensors.edit(id).kind = p.tensors[id].kind == TensorKind::input ? TensorKind::stash : TensorKind::input;
      });
      refused("fewer bytes", [&](Plan& p) { p.tensors.edit(id).bytes -= 1; });
      refused("more bytes", [&](Plan& p) { p.tensors.edit(id).bytes += 1; });
      refused("through the run, or not", [&](Plan& p) {
        PlanTensor& tensor = p.tensors.edit(id);
        tensor.persistent = !(tensor.persistent || tensor.at_home_on_host());
        tensor.home_offset = -1;
      });
      refused("slice", [&](Plan& p) { p.tensors.edit(id).slice_of = TensorId(0); });
    }
    for (const TaskId id : ids_of(good.plan.tasks)) {
      INFO(good.plan.tasks[id].name);
      refused("name", [&](Plan& p) { p.tasks.edit(id).name += "'"; });
      refused("op", [&](Plan& p) { p.tasks.edit(id).op += "'"; });
      refused("kind", [&](Plan& p) {
        p.tasks.edit(id).kind = p.tasks[id].kind == TaskKind::loss ? TaskKind::forward : TaskKind::loss;
      });
      refused("layer", [&](Plan& p) { p.tasks.edit(id).layer += "'"; });
      refused("flops", [&](Plan& p) { p.tasks.edit(id).flops += 1; });
      refused("bytes moved", [&](Plan& p) { p.tasks.edit(id).bytes_moved += 1; });
      for (const auto list : {&PlanTask::reads, &PlanTask::writes, &PlanTask::updates, &PlanTask::remembers}) {
        refused("one more", [&](Plan& p) { (p.tasks.edit(id).*list).push_back(TensorId(0)); });
        if (!(good.plan.tasks[id].*list).empty())
          refused("one less", [&](Plan& p) { (p.tasks.edit(id).*list).pop_back(); });
      }
      refused("in place", [&](Plan& p) { p.tasks.edit(id).in_place.push_back({TensorId(0), TensorId(0)}); });
      Plan less = good.plan;
      less.tasks.edit(id).in_place.clear();
      CHECK(to_string(check_against_graph(less, good.graph)) == "");
    }
    // A recomputation of a task for which the graph forbids it.
    for (const Step& step : good.plan.steps) {
      if (step.kind != StepKind::compute || !step.recompute) continue;
      TaskGraph strict = good.graph;
      strict.tasks[step.task].may_run_again = false;
      CHECK(names_a(Rule::graph, check_against_graph(good.plan, strict)));
      ++again;
    }
  }
  CHECK(again > 0);
}

TEST_CASE("slices are those of the graph's update tasks, each byte of a weight once") {
  int slices = 0;
  for (const uint64_t seed : {6, 22}) {
    const int64_t batch = 1 + static_cast<int64_t>(seed % 7);
    const TaskGraph graph =
        shared(random_graph(seed, {.layers = 2 + static_cast<int>(seed % 23), .batch = batch, .mixed = seed % 2 == 1}),
               1 + seed % 3);
    RandomCosts costs(seed);
    const Plan free = make_plan(graph, costs, {.policy = "auto", .batch = batch}).value();
    const Plan good =
        make_plan(graph, costs,
                  {.policy = "auto", .batch = batch, .budget_bytes = free.summary.minimum_bytes, .effort = 0})
            .value();
    REQUIRE(to_string(check_against_graph(good, graph)) == "");
    const auto refused = [&](const char* what, auto damage) {
      CAPTURE(seed, what);
      Plan plan = good;
      damage(plan);
      CHECK(names_a(Rule::graph, check_against_graph(plan, graph)));
    };
    for (const TensorId id : ids_of(good.tensors)) {
      if (graph.tensors.contains(id)) continue;
      ++slices;
      INFO(good.tensors[id].name);
      refused("begins later", [&](Plan& p) { p.tensors.edit(id).slice_begin += 256; });
      refused("smaller", [&](Plan& p) { p.tensors.edit(id).bytes -= 4; });
      refused("of another tensor",
              [&](Plan& p) {
                p.tensors.edit(id).slice_of = graph.inputs.empty() ? TensorId(0) : graph.inputs.front();
              });
      refused("of another kind", [&](Plan& p) { p.tensors.edit(id).kind = TensorKind::stash; });
    }
    if (good.slice_bytes > 0) refused("smaller slices", [](Plan& p) { p.slice_bytes = 4; });
  }
  CHECK(slices > 0);
}

TEST_CASE("each figure of bytes in the summary, and of tasks run again, is judged") {
  int64_t moved = 0, again = 0;
  for (const uint64_t seed : seeds(4))
    for (const char* policy : {"auto", "superneurons:memory", "vdnn-all:m"}) {
      const Plan good = answer(seed, policy).plan;
      REQUIRE(to_string(check_plan(good)) == "");
      for (const auto figure : {&PlanSummary::arena_bytes, &PlanSummary::persistent_bytes, &PlanSummary::live_bytes,
                                &PlanSummary::peak_step, &PlanSummary::peak_live_tensors, &PlanSummary::host_pool_bytes,
                                &PlanSummary::offloaded_bytes, &PlanSummary::prefetched_bytes,
                                &PlanSummary::recomputed_tasks, &PlanSummary::reduced_bytes})
        for (const int64_t by : {-100'000, 100'000}) {
          CAPTURE(seed, policy, by, good.summary.*figure);
          Plan plan = good;
          plan.summary.*figure += by;
          plan.budget_bytes += 200'000;
          CHECK(names_a(Rule::summary, check_plan(plan)));
        }
      moved += good.summary.offloaded_bytes;
      again += good.summary.recomputed_tasks;
    }
  CHECK((moved > 0 && again > 0));
}

TEST_CASE("sums over the ranks are in f32") {
  RandomCosts costs(1);
  const TaskGraph graph = shared(random_graph(1, {.layers = 4, .batch = 4, .mixed = true}), 2);
  Plan plan = make_plan(graph, costs, {.policy = "liveness", .batch = 4, .sub_batch = 4}).value();
  REQUIRE(to_string(check_plan(plan)) == "");
  for (const TensorId id : ids_of(plan.tensors))
    if (plan.tensors[id].kind == TensorKind::weight_gradient) plan.tensors.edit(id).reduced = DataType::bf16;
  CHECK(to_string(check_plan(plan)).find(" over the ranks in bf16; sums are in f32\n") != std::string::npos);
}
