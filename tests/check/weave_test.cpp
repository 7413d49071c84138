// Arbitrary decisions, lowered on random graphs. The checker and random interleavings verify the plan, and the
// evaluator is compared with the passes that it replaces.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "compiler/check/check.h"
#include "compiler/ir/plan_text.h"
#include "passes/candidate.h"
#include "passes/schedule/apply.h"
#include "tests/check/interleave.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

using schedule::Fate;
using schedule::FateKind;

struct Drawn {
  uint64_t seed = 0;
  schedule::Outcome outcome = {};
  double least_seconds = 0;
};
Drawn drawn;  // input and output of the policy below, because a policy is a stateless function

schedule::Fates random_fates(const schedule::Model& model, uint64_t seed) {
  std::mt19937_64 random(seed);
  schedule::Fates fates = schedule::keep_everything(model);
  for (size_t id = 0; id < fates.size(); ++id) {
    if (!model.tensors[id].movable) continue;
    switch (random() % 4) {
      case 0: break;
      case 1: fates[id] = {.kind = FateKind::keep}; break;
      case 2: fates[id] = {.kind = FateKind::offload}; break;
      case 3: fates[id] = {.kind = FateKind::recompute, .level = static_cast<uint8_t>(1 + random() % 3)}; break;
    }
    if (random() % 3 == 0) fates[id].again = true;
  }
  for (const int32_t home : model.all_homes)
    if (random() % 2 == 0)
      fates[static_cast<size_t>(home)] = {.kind = schedule::FateKind::offload, .level = random() % 2 == 0 ? schedule::kEarly : uint8_t{1}, .again = random() % 2 == 0};
  return fates;
}

Status random_schedule(Plan& plan, const Context& context) {
  const schedule::Model model = schedule::make_model(plan, context);
  schedule::Evaluator evaluator(model);
  schedule::Fates fates = random_fates(model, drawn.seed);
  schedule::Trace trace;
  schedule::weave_possible(model, fates, trace);
  drawn.outcome = schedule::time_copies(model, evaluator, trace, context.live_limit);
  evaluator.evaluate(trace, context.live_limit);
  drawn.least_seconds = evaluator.least_seconds(trace);
  schedule::put_steps(plan, trace);
  return {};
}

int64_t count(const Plan& plan, StepKind kind, bool recompute) {
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [&](const Step& step) { return step.kind == kind && step.recompute == recompute; });
}

}  // namespace

TEST_CASE("whatever becomes of tensors, the plan is sound, no slower than the evaluator says, and no faster than it says is possible") {
  int64_t offloads = 0, recomputations = 0, homes = 0, weights = 0, gradients = 0;
  for (const uint64_t seed : seeds(300)) {
    CAPTURE(seed);
    const int64_t batch = 1 + static_cast<int64_t>(seed % 5);
    const int64_t sub_batch = 1 + static_cast<int64_t>(seed % static_cast<uint64_t>(batch));
    const TaskGraph one = shared(random_graph(seed, {.layers = 2 + static_cast<int>(seed % 19), .batch = batch}), 1 + seed % 4);
    const TaskGraph graph = sub_batch < batch ? accumulating(one) : one;
    RandomCosts costs(seed);
    const auto candidate = make_candidate(graph, costs, batch, sub_batch);
    REQUIRE(candidate.ok());
    drawn.seed = seed;
    for (const int64_t limit : {kNoLimit, int64_t{0}, int64_t{200'000}}) {
      const auto plan = plan_within(*candidate, {.name = "random", .schedule = random_schedule, .searches = true}, limit);
      REQUIRE(plan.ok());
      Plan judged = *plan;
      judged.budget_bytes = judged.summary.arena_bytes;
      CHECK(to_string(check_plan(judged)) == "");
      CHECK(to_string(check_against_graph(judged, graph)) == "");
      for (uint64_t order = 0; order < 3; ++order) CHECK(run_interleaved(judged, order) == "");
      CHECK(drawn.outcome.peak_bytes >= judged.summary.live_bytes);
      CHECK(judged.summary.iteration_seconds <= drawn.outcome.seconds * (1 + 1e-9));
      CHECK(judged.summary.iteration_seconds >= drawn.outcome.busy_seconds * (1 - 1e-9));
      CHECK(judged.summary.iteration_seconds >= drawn.least_seconds * (1 - 1e-9));
      offloads += count(judged, StepKind::offload, false);
      recomputations += count(judged, StepKind::compute, true);
      for (const PlanTensor& tensor : judged.tensors) {
        homes += tensor.at_home_on_host();
        gradients += tensor.at_home_on_host() && tensor.kind == TensorKind::weight_gradient;
        weights += tensor.at_home_on_host() && tensor.kind == TensorKind::weight;
      }
    }
  }
  CHECK(offloads > 1000);
  CHECK(recomputations > 1000);
  CHECK(homes > 500);
  CHECK(weights > 500);
  CHECK(gradients > 100);
}
