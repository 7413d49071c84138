// A candidate: a sub-batch size with the inputs of its plans, which are the task graph for that number of rounds and
// the costs of the tasks.
#pragma once

#include <memory>
#include <optional>

#include "passes/context.h"
#include "passes/pipeline.h"
#include "passes/place/last_solutions.h"
#include "passes/policy.h"
#include "passes/schedule/model.h"
#include "passes/seed_plan.h"

namespace plimsoll {

struct Candidate {
  const TaskGraph* graph = nullptr;  // the accumulating graph when there is more than one round
  Choices choices = {};
  LinkRates links = {};
  int64_t batch = 0;      // samples per rank; so is sub_batch
  int64_t sub_batch = 0;
  std::shared_ptr<LastSeed> seed = std::make_shared<LastSeed>();  // shared by its plans
  std::shared_ptr<placement::LastSolutions> placements = std::make_shared<placement::LastSolutions>();  // likewise
  int64_t rounds() const { return (batch + sub_batch - 1) / sub_batch; }
  int64_t last_sub_batch() const { return batch - (rounds() - 1) * sub_batch; }
};

// A plan with the arguments of the pipeline that made it, so that the passes can be repeated for an observer.
struct Found {
  Plan plan;
  const Candidate* candidate = nullptr;
  int64_t live_limit = kNoLimit;
  Policy policy = {};  // includes the schedule (Policy::decided) if a search has found it
  double seconds() const { return plan.summary.iteration_seconds; }
  int64_t arena() const { return plan.summary.arena_bytes; }
  int64_t host_pool() const { return plan.summary.host_pool_bytes; }
  // A copy with the summary only. Tensors, tasks and steps are most of a plan's bytes.
  Found figures() const {
    return {.plan = {.summary = plan.summary}, .candidate = candidate, .live_limit = live_limit, .policy = policy};
  }
};

// Queries `costs` for the choices and link rates. `graph` must outlive the candidate. Requires 1 <= sub_batch <= batch.
Result<Candidate> make_candidate(const TaskGraph& graph, Costs& costs, int64_t batch, int64_t sub_batch);

// The policy with its decisions replaced by this schedule.
Policy with_schedule(const Policy& policy, schedule::Trace trace);

// A plan of this candidate before the first pass.
Plan empty_plan(const Candidate& candidate);
// The context of its passes. The candidate must outlive it.
Context context_of(const Candidate& candidate, const Policy& policy, int64_t live_limit);

// Runs the pipeline until the observer stops it. `live_limit`: see Context::live_limit.
Result<Plan> plan_within(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                         const PassObserver& observe = {});

// The same as a Found.
Result<Found> found_within(const Candidate& candidate, const Policy& policy, int64_t live_limit);

// The same, but returns nullopt as soon as the plan is known to reach the ceiling. A returned plan may still reach it.
Result<std::optional<Found>> plan_below(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                                        const Ceiling& ceiling = {});

// Lower bounds on a plan.
struct LowerBounds {
  double seconds = 0;
  int64_t arena_bytes = 0;
  // The schedule that the bounds were computed from. The plan reuses it, so the policy decides only once. Null: the
  // policy has no schedule function, or a plan has taken the schedule.
  std::shared_ptr<const schedule::Program> decided = nullptr;
};

// Lower bounds on plan_within() of the same arguments, for a policy that does not search. They are computed from the
// steps alone, at a fraction of the cost of a plan. `ordered`: the result of ordered_model() for the same arguments.
LowerBounds lower_bounds_of(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                            const schedule::Model& ordered);

// The input of a schedule search: the candidate as flat arrays, in the policy's order.
schedule::Model ordered_model(const Candidate& candidate, const Policy& policy, int threads = 1);

// A lower bound on the memory of any plan of this sub-batch: live bytes at the peak, without workspaces. It needs no
// costs.
int64_t bytes_without_workspace(const TaskGraph& graph, const Policy& policy, int64_t batch, int64_t sub_batch);

}  // namespace plimsoll
