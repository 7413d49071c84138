// A request to the planner.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "compiler/ir/plan.h"
#include "compiler/ir/unfinished_plan.h"
#include "passes/context.h"

namespace plimsoll {

struct PlanRequest {
  std::string policy = "liveness";  // a name in policies.h
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
  // Reserve room for the next round's inputs if the budget has it (inputs_ahead.h). Policies that do not search ignore
  // this.
  bool inputs_ahead = false;
  bool keep_order = false;          // run tasks in the graph's order, with updates as early as possible
  std::string model_name = {}, model_sha256 = {}, target_kind = "host", device = {}, costs = "modelled";
  std::map<std::string, std::string> libraries = {};
  std::string precision = {};  // as Plan::precision
  std::string optimizer_state = {};  // as Plan::optimizer_state
  // Called after each pass of the returned plan, for --print-after and --dump. Returns false to stop the passes: the
  // planner then returns the plan as the last pass has left it. Empty: no observer. `timed` receives the seconds that
  // the pass took.
  std::function<bool(const UnfinishedPlan& plan)> observe = {};
  std::function<void(const std::string& pass, double seconds)> timed = {};
  // Called before `observe` and `timed`, with the form of the task graph that was chosen (Planner).
  std::function<void(const FormsOfParts& forms)> chosen = {};
  // Called when the time limit ended the search.
  std::function<void()> cut_short = {};
  // Called when the host budget excluded schedules from the search.
  std::function<void()> host_budget_binds = {};
};

}  // namespace plimsoll
