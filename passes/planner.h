// The door of the room: a task graph, costs and a budget in, a placed and synchronized plan out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "passes/found.h"
#include "passes/splits.h"

namespace plimsoll {

struct PlanRequest {
  std::string policy = "liveness";  // a name of policies.h
  int64_t batch = 1;                // of one rank, like sub_batch
  int64_t sub_batch = 0;            // 0: the planner chooses
  // Budget: bytes, or a share of the unconstrained arena, or none.
  int64_t budget_bytes = 0;         // 0: none, or by percent
  double budget_percent = 0;        // of unconstrained_bytes, or of what the rounds of `sub_batch` take, where that is more
  int64_t host_budget_bytes = kNoLimit;  // most bytes of the host pool
  std::string host_budget_source = {};   // where it is from, if nobody asked for it: for messages
  // The planner may choose rounds where a task mixes samples, too, though something else is trained then.
  bool may_split_statistics = false;
  int effort = 1;                   // of policies that search: 0 … 3, each about ten times the work of the one before
  int hands = 1;                    // threads that plan: the plan does not depend on them
  double time_limit_seconds = 0;    // 0: none. A search that it ends gives the best found so far
  bool keep_order = false;          // tasks run as the graph lists them, updates as early as they may
  std::string model_name = {}, model_sha256 = {}, target_kind = "host", device = {}, costs = "modelled";
  std::map<std::string, std::string> libraries = {};
  std::string layout = {};  // as Plan::layout
  // Called after each pass of the plan that is returned, with the pass's name and the plan, for --print-after and
  // --dump; empty: nobody listens. `timed` hears how long the pass took.
  std::function<void(const std::string& pass, const Plan& plan)> observe = {};
  std::function<void(const std::string& pass, double seconds)> timed = {};
  // Called when the time limit ended the search.
  std::function<void()> cut_short = {};
  // Called when the host budget kept the search from schedules.
  std::function<void()> host_budget_binds = {};
};

// Plans one graph as often as asked; what was searched for one budget serves the next.
class Planner {
 public:
  // `costs` must outlive this.
  Planner(TaskGraph graph, Costs& costs, int64_t batch) : splits_(std::move(graph), costs, batch) {}

  // Without a budget the plan is the unconstrained one and its arena is what it promises: budget_bytes = arena_bytes.
  // Of several rounds, the fewest that fit are taken and the batch is split as evenly as they allow.
  // Before: request.batch is this planner's.
  // Where a task mixes samples, rounds are those of `sub_batch` or none, unless the request may split statistics: what is
  // trained does not depend on the budget (docs/decisions/batch-norm.md).
  // Error: usage, for an unknown policy or a sub-batch out of range; budget_infeasible, with the step at the peak, what is
  // live there and why it cannot leave, and the least budget for which a plan exists; that budget then works. Where it is the host budget
  // that leaves no plan, the least one that is known to do within the budget, and the least budget beside this one.
  // More budget never makes a slower plan of a policy that searches, whatever has been planned before (docs/decisions/search.md).
  Result<Plan> plan(const PlanRequest& request);

  // Of a plan of this planner: with several rounds it accumulates.
  const TaskGraph& graph_of(const Plan& plan) { return splits_.graph_for(plan.rounds > 1 ? 0 : splits_.batch()); }

 private:
  Splits splits_;
};

// For one plan.
Result<Plan> make_plan(const TaskGraph& graph, Costs& costs, const PlanRequest& request);

}  // namespace plimsoll
