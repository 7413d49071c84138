// The entry point of passes/: takes a task graph, costs and a budget, and returns a placed and synchronized plan.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/ir/unfinished_plan.h"
#include "compiler/support/status.h"
#include "passes/context.h"

namespace plimsoll {

class Variants;

struct PlanRequest {
  std::string policy = "liveness";  // a name of policies.h
  int64_t batch = 1;                // samples per rank; so is sub_batch
  int64_t sub_batch = 0;            // 0: the planner chooses
  // The budget: bytes, a percentage of the unlimited arena, or unlimited.
  int64_t budget_bytes = 0;         // 0: unlimited, or given by budget_percent
  double budget_percent = 0;  // of unconstrained_bytes, or of the arena that the rounds of `sub_batch` take, if larger
  int64_t host_budget_bytes = kNoLimit;  // maximum bytes of the host pool
  std::string host_budget_source = {};   // where a default host budget comes from; used in messages
  // The planner may also choose several rounds where a task mixes samples, although this changes what is trained.
  bool may_split_statistics = false;
  int effort = 1;                   // for policies that search: 0 to 3, each about ten times the work of the one before
  int threads = 1;                    // planning threads; the plan does not depend on it
  double time_limit_seconds = 0;    // 0: unlimited. When it ends a search, the best plan found so far is returned
  // Also room for the next round's inputs, where the budget has it (inputs_ahead.h); only by policies that search.
  bool inputs_ahead = false;
  bool keep_order = false;          // run tasks in the graph's order, with updates as early as possible
  std::string model_name = {}, model_sha256 = {}, target_kind = "host", device = {}, costs = "modelled";
  std::map<std::string, std::string> libraries = {};
  std::string precision = {};  // as Plan::precision
  std::string optimizer_state = {};  // as Plan::optimizer_state
  std::string layout = {};     // as Plan::layout
  // Called after each pass of the returned plan, for --print-after and --dump. Returns false to stop there: the planner
  // then returns the plan as that pass has left it. Empty: no observer. `timed` receives the seconds that the pass
  // took.
  std::function<bool(const UnfinishedPlan& plan)> observe = {};
  std::function<void(const std::string& pass, double seconds)> timed = {};
  // Called when the time limit ended the search.
  std::function<void()> cut_short = {};
  // Called when the host budget excluded schedules from the search.
  std::function<void()> host_budget_binds = {};
};

// Plans one graph any number of times. Results of the search for one budget are reused for the next.
class Planner {
 public:
  // `costs` must outlive this.
  Planner(TaskGraph graph, Costs& costs, int64_t batch);
  ~Planner();

  // If no budget is given, the plan is the unlimited one, and budget_bytes is set to arena_bytes. Among several numbers
  // of rounds, the smallest that fits is taken, and the batch is split as evenly as it allows.
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

  // The same from a plan between two passes, which an observer of the same request has received: nothing is searched.
  // Errors: those of resume().
  Result<Plan> plan_from(const UnfinishedPlan& unfinished, const PlanRequest& request);

 private:
  std::unique_ptr<Variants> variants_;
};

// Makes a single plan.
Result<Plan> make_plan(const TaskGraph& graph, Costs& costs, const PlanRequest& request);

}  // namespace plimsoll
