// Arbitrary decisions, lowered on random graphs. The checker and random interleavings verify the plan, and the
// evaluator is compared with the passes that it replaces.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "compiler/check/check.h"
#include "compiler/ir/plan_text.h"
#include "passes/candidate.h"
#include "passes/schedule/evaluate.h"
#include "passes/schedule/lower.h"
#include "tests/check/interleave.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

using schedule::DecisionKind;

struct Drawn {
  schedule::Outcome outcome = {};
  double least_seconds = 0;
};

schedule::Decisions random_decisions(const schedule::Model& model, uint64_t seed) {
  std::mt19937_64 random(seed);
  schedule::Decisions decisions = schedule::keep_everything(model);
  for (size_t id = 0; id < model.tensors.size(); ++id) {
    if (!model.tensors[id].movable) continue;
    schedule::ActivationDecision& decision = decisions.activations[id];
    switch (random() % 4) {
      case 0: break;
      case 1: decision = {.kind = DecisionKind::keep}; break;
      case 2: decision = {.kind = DecisionKind::offload}; break;
      case 3:
        decision = {.kind = DecisionKind::recompute, .level = {.depth = static_cast<uint8_t>(1 + random() % 3)}};
        break;
    }
    if (random() % 3 == 0) decision.again = true;
  }
  for (schedule::ResidenceDecision& residence : decisions.residences)
    if (random() % 2 == 0) residence = {.on_host = true, .early = random() % 2 == 0, .again = random() % 2 == 0};
  return decisions;
}

schedule::Program random_schedule(const ScheduleRequest& request, uint64_t seed, Drawn& drawn) {
  const schedule::Model& model = request.model;
  schedule::Evaluator evaluator(model);
  schedule::Decisions decisions = random_decisions(model, seed);
  schedule::Trace trace;
  schedule::lower_decisions(model, decisions, trace);
  drawn.outcome = evaluator.time_copies(trace, request.live_limit);
  evaluator.evaluate(trace, request.live_limit);
  drawn.least_seconds = evaluator.least_seconds(trace);
  return {.trace = std::move(trace)};
}

int64_t count(const Plan& plan, StepKind kind, bool recompute) {
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [&](const Step& step) { return step.kind == kind && step.recompute == recompute; });
}

}  // namespace

TEST_CASE(
    "whatever becomes of tensors, the plan is sound, no slower than the evaluator says, and no faster than it says is "
    "possible") {
  int64_t offloads = 0, recomputations = 0, host_residents = 0, weights = 0, gradients = 0;
  for (const uint64_t seed : seeds(300)) {
    CAPTURE(seed);
    const int64_t batch = 1 + static_cast<int64_t>(seed % 5);
    const int64_t sub_batch = 1 + static_cast<int64_t>(seed % static_cast<uint64_t>(batch));
    const TaskGraph one =
        shared(random_graph(seed, {.layers = 2 + static_cast<int>(seed % 19), .batch = batch, .mixed = seed % 2 == 1}),
               1 + seed % 4);
    const TaskGraph graph = sub_batch < batch ? accumulating(one) : one;
    RandomCosts costs(seed);
    const auto candidate = make_candidate(graph, costs, batch, sub_batch);
    REQUIRE(candidate.ok());
    for (const int64_t limit : {kNoLimit, int64_t{0}, int64_t{200'000}}) {
      Drawn drawn;
      const auto schedule = [&](const ScheduleRequest& request) { return random_schedule(request, seed, drawn); };
      const auto plan = plan_within(*candidate, {.name = "random", .schedule = schedule, .searches = true}, limit);
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
        host_residents += tensor.at_home_on_host();
        gradients += tensor.at_home_on_host() && tensor.kind == TensorKind::weight_gradient;
        weights += tensor.at_home_on_host() && tensor.kind == TensorKind::weight;
      }
    }
  }
  CHECK(offloads > 1000);
  CHECK(recomputations > 1000);
  CHECK(host_residents > 500);
  CHECK(weights > 500);
  CHECK(gradients > 100);
}
