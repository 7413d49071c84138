// A plan between two passes, with what the passes after it read and no plan states. Its text form is a dump, from which
// planning continues (docs/text-forms.md):
//
//   unfinished v1 after=order graph=7a4c… costs=02f1…
//   asked budget 80%
//   decided auto order=low_peak algorithms=fitting schedule=searched live_limit=36725952
//   figures budget=37748736 minimum=21233664 unlimited=47185920 unlimited_seconds=0.0113 ideal_seconds=0.0098 …
//   step load:x
//   step c1.forward
//   step recompute:c1.forward
//   plan three-convs v1 batch=64 sub_batch=64 rounds=1 last=64
//   …
//
// The task graph and the costs are large and follow from the model and the flags. So the text has their digests.
// `step` lines are the schedule that a search has found. The pass that writes it into the plan is `schedule`; after it
// there are none.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Where the pass `schedule` gets what leaves the device and what is recomputed.
enum class ScheduleSource {
  none,      // every tensor stays on the device
  policy,    // the policy decides
  searched,  // a search has decided
};

// What the planner found in other plans, for the figures of this one. -1: there is no such limit.
struct SearchFigures {
  int64_t budget_bytes = -1;
  int64_t host_budget_bytes = -1;
  int64_t minimum_bytes = 0;
  int64_t unconstrained_bytes = 0;
  double unconstrained_seconds = 0;
  double ideal_seconds = 0;
  double bound_seconds = 0;
  FormsOfParts forms = {};  // as Plan::forms
};

struct UnfinishedPlan {
  std::string after = {};  // the last pass that has run
  // Digests of the graph that is planned (in slices and accumulating, where the plan is) and of its tasks' choices.
  std::string graph = {}, costs = {};
  // The flags that the search depended on, without dashes, and their values. The driver fills them.
  std::map<std::string, std::string> asked = {};
  // The policy of the passes. It may be another than the one that was asked for, with another order or other
  // algorithms than its own.
  std::string policy = {}, order = {}, algorithms = {};
  ScheduleSource source = ScheduleSource::none;
  int64_t live_limit = -1;  // bytes; -1: none
  SearchFigures figures = {};
  std::vector<Step> schedule = {};  // kind, task or tensor, recompute: all that a schedule says of a step
  Plan plan = {};
};

std::string_view to_string(ScheduleSource source);

// Lossless, as the text of the plan in it.
std::string to_text(const UnfinishedPlan& unfinished);

// to_text(unfinished_plan_from_text(text)) is the canonical form of `text`. Error: invalid_model, with line and column.
Result<UnfinishedPlan> unfinished_plan_from_text(std::string_view text, const std::string& what = "unfinished plan");

}  // namespace plimsoll
