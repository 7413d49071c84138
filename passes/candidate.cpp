#include "passes/candidate.h"

#include <algorithm>
#include <utility>

#include "passes/conv_algorithm.h"
#include "passes/liveness.h"
#include "passes/order.h"
#include "passes/schedule/evaluate.h"

namespace plimsoll {

// A candidate holds one rank's share of the batch; a plan counts the samples of all ranks.
Plan empty_plan(const Candidate& candidate) {
  const TaskGraph& graph = *candidate.graph;
  Plan plan;
  plan.ranks = graph.ranks;
  plan.slice_bytes = graph.slice_bytes;
  plan.whole_weights = graph.whole_weights;
  plan.batch = graph.ranks * candidate.batch;
  plan.sub_batch = graph.ranks * candidate.sub_batch;
  plan.rounds = candidate.rounds();
  plan.last_sub_batch = graph.ranks * candidate.last_sub_batch();
  return plan;
}

Context context_of(const Candidate& candidate, const Policy& policy, int64_t live_limit) {
  return {.graph = *candidate.graph,
          .choices = candidate.choices,
          .policy = policy,
          .live_limit = live_limit,
          .links = candidate.links,
          .seed = candidate.seed.get(),
          .placements = candidate.placements.get()};
}

Result<Candidate> make_candidate(const TaskGraph& graph, Costs& costs, int64_t batch, int64_t sub_batch) {
  Candidate candidate{.graph = &graph, .links = costs.links(), .batch = batch, .sub_batch = sub_batch};
  PLIMSOLL_TRY(costs.prepare(graph, sub_batch));
  if (candidate.last_sub_batch() != sub_batch) PLIMSOLL_TRY(costs.prepare(graph, candidate.last_sub_batch()));
  PLIMSOLL_ASSIGN(candidate.choices, find_choices(graph, costs, sub_batch, candidate.last_sub_batch()));
  return candidate;
}

Policy with_schedule(const Policy& policy, schedule::Trace trace) {
  Policy decided = policy;
  decided.decided = std::make_shared<const schedule::Program>(schedule::Program{.trace = std::move(trace)});
  return decided;
}

Result<Plan> plan_within(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                         const PassObserver& observe) {
  Plan plan = empty_plan(candidate);
  const Context context = context_of(candidate, policy, live_limit);
  PLIMSOLL_ASSIGN(const bool finished, run_passes(plan, context, observe));
  PLIMSOLL_CHECK(finished || observe, "the passes stopped, but no observer stops them");
  return plan;
}

Result<Found> found_within(const Candidate& candidate, const Policy& policy, int64_t live_limit) {
  PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, policy, live_limit));
  return Found{std::move(plan), &candidate, live_limit, policy};
}

Result<std::optional<Found>> plan_below(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                                        const Ceiling& ceiling) {
  Plan plan = empty_plan(candidate);
  Context context = context_of(candidate, policy, live_limit);
  context.ceiling = ceiling;
  PLIMSOLL_ASSIGN(const bool finished, run_passes(plan, context));
  if (!finished) return std::optional<Found>();
  return std::optional(Found{std::move(plan), &candidate, live_limit, policy});
}

LowerBounds lower_bounds_of(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                            const schedule::Model& ordered) {
  constexpr double kRounding = 1 - 1e-9;  // passes sum the same seconds in another order
  std::shared_ptr<const schedule::Program> decided;
  if (policy.schedule)
    decided = std::make_shared<const schedule::Program>(
        policy.schedule({*candidate.graph, ordered, candidate.sub_batch, live_limit}));
  const schedule::Trace& trace = decided ? decided->trace : ordered.order;
  schedule::Evaluator evaluator(ordered);
  const int64_t bytes = evaluator.measure(trace, limit_of_algorithms(policy, live_limit)).peak_bytes;
  return {.seconds = kRounding * evaluator.least_seconds(trace), .arena_bytes = bytes, .decided = std::move(decided)};
}

schedule::Model ordered_model(const Candidate& candidate, const Policy& policy, int threads) {
  Context context = context_of(candidate, policy, kNoLimit);
  context.threads = threads;
  Plan plan = empty_plan(candidate);
  for (const auto pass : {seed_plan, order}) PLIMSOLL_CHECK(pass(plan, context).ok(), "the first passes cannot fail");
  return schedule::make_model(plan, context);
}

int64_t bytes_without_workspace(const TaskGraph& graph, const Policy& policy, int64_t batch, int64_t sub_batch) {
  const Candidate free{
      .graph = &graph, .choices = Choices(graph.tasks.size(), {Choice{}}), .batch = batch, .sub_batch = sub_batch};
  const Context context = context_of(free, policy, kNoLimit);
  Plan plan = empty_plan(free);
  for (const auto pass : {seed_plan, order, liveness})
    PLIMSOLL_CHECK(pass(plan, context).ok(), "the first passes cannot fail");
  return plan.steps.empty() ? 0 : std::ranges::max(bytes_of_tensors(plan, context));
}

}  // namespace plimsoll
