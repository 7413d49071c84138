// From a request to checked plans.
#pragma once

#include <string>

#include "compiler/driver/messages.h"
#include "compiler/driver/prepare.h"
#include "compiler/driver/request.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "passes/planner.h"

namespace plimsoll {

// Makes and checks a plan. `request`: plannable.request with a policy and a budget.
Result<Plan> checked_plan(const Plannable& plannable, const PlanRequest& request);

// The reference for all policies and budgets: the unlimited plan of the policy that searches (of the first in the
// table, if none does).
Result<Plan> unconstrained_plan(const Plannable& plannable);

struct Planned {
  ImportedModel model;
  TaskGraph graph;  // as planned: accumulating if the plan has several rounds
  Plan plan;
  int64_t threads = 0;
  bool cut_short = false;  // --time-limit ended the search
  // The plan is in bf16 with modelled times for this machine, whose processor multiplies bf16 no faster than f32.
  bool multiplies_no_faster = false;
};

// The final status after everything is written: time_limit if the search was cut short.
Status last_word(const Planned& planned);

// All steps for one plan, or those after a dump (PlanningRequest::from); of a finished plan, only those that check it
// (given_plan.h). On an error nothing is left behind.
Result<Planned> plan_model(const PlanningRequest& asked, const OnePlanRequest& one, const Messages& messages,
                           PlanFor purpose);

// The same steps up to the pass one.stop_after. Returns its dump. Error: usage, if the request has no such pass.
Result<std::string> text_after(const PlanningRequest& asked, const OnePlanRequest& one, const Messages& messages,
                               PlanFor purpose);

// A note below a table of plans: how many samples batch normalization sees at once, if the model has any. `splits`: the
// table marks a plan with †.
std::string note_on_statistics(const Plannable& plannable, bool splits);

// The summary lines at the end of `compile` and `plan`.
std::string describe(const Planned& planned);

}  // namespace plimsoll
