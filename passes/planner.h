// The entry point of passes/: takes a task graph, costs and a budget, and returns a placed and synchronized plan.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"
#include "passes/plan_request.h"

namespace plimsoll {

class Searches;
class Variants;

// Plans one graph, or the best of several forms of it, any number of times. Results of the search for one budget are
// reused for the next.
class Planner {
 public:
  // `costs` must outlive this.
  Planner(TaskGraph graph, Costs& costs, int64_t batch);
  // Forms of one task graph: they train the same with other tasks, and differ in TaskGraph::forms. Policies that search
  // choose the form with the fastest plan within the budget. All others plan the first form.
  Planner(std::vector<TaskGraph> forms, Costs& costs, int64_t batch);
  ~Planner();
  // A form of the task graph. This holds the only copy, because the graph of a deep network takes hundreds of
  // megabytes. `forms`: Plan::forms or TaskGraph::forms; the first form if none matches.
  const TaskGraph& graph(const FormsOfParts& forms = {}) const;
  // Moves the form out. No plan of it can be made afterwards.
  TaskGraph take_graph(const FormsOfParts& forms = {});

  // If no budget is given, the plan is the unlimited one, and budget_bytes is set to arena_bytes. Policies that do not
  // search take the fewest rounds that fit, and split the batch as evenly as that allows.
  //
  // Before: request.batch equals this planner's batch. If a task mixes samples, the rounds are those of `sub_batch`, or
  // one, unless the request may split statistics: what is trained does not depend on the budget
  // (docs/decisions/batch-norm.md).
  //
  // Error: usage, for an unknown policy or a sub-batch out of range. budget_infeasible, with the step at the peak, the
  // tensors live there, why each cannot leave, and the minimum budget; that budget then works. If the host budget is
  // the cause, the error gives the smallest host budget known to work within the device budget, and the minimum device
  // budget for this host budget.
  //
  // A larger budget never makes a slower plan under a policy that searches, whatever was planned before
  // (docs/decisions/search.md).
  Result<Plan> plan(const PlanRequest& request);

  // Completes a plan that an observer of the same request has received between two passes. Nothing is searched.
  // Errors: those of resume().
  Result<Plan> plan_from(const UnfinishedPlan& unfinished, const PlanRequest& request);

 private:
  Variants& form_of(const FormsOfParts& forms) const;

  std::vector<std::unique_ptr<Variants>> forms_;
  std::unique_ptr<Searches> searches_;
};

}  // namespace plimsoll
