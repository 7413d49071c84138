// The judge of plans. It judges from the plan alone, as plan.json gives it; it knows nothing of how the plan was made
// and shares no code with any pass. It runs at the end of every compile, and what it refuses is never emitted.
//
// Why what it accepts is right, whatever time any kernel or copy takes:
//   1. Any two accesses to the same bytes, one of which changes them, are ordered by happens-before (race.h). Then every
//      interleaving of the streams does what the order of issue does.
//   2. In the order of issue, each residency begins with a step that puts the tensor's value there, nobody else writes
//      those bytes before its last access, and the value is the current one. So every read finds what the graph wants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Which of the rules of docs/plan-format.md is broken.
enum class Rule {
  form,        // an id that points nowhere, a step on the wrong stream, a tensor with two makers, rounds that do not add up
  execution,   // a task is left out, runs twice, or is recomputed when it may not be
  residency,   // an access in no residency of its tensor or in two; a residency whose ends touch nothing
  value,       // what is read was not put there before
  overlap,     // bytes of the arena used by two without an order between them
  host_slot,   // the same in the host pool; a prefetch of what was never offloaded; what lives there and does not come home
  workspace,   // less than the step's algorithm needs
  bounds,      // outside the arena, the host pool or the budget; not aligned
  current,     // a weight read after its update; updates out of order
  result,      // the loss does not survive the round
  summary,     // a figure of the summary is not what the plan says
  graph,       // the plan's tasks or tensors are not those of the graph
};

struct Violation {
  Rule rule = Rule::form;
  StepId step = {};      // where it shows, if at a step
  TensorId tensor = {};  // of what, if of a tensor
  std::string message;   // names and numbers
};

// Empty: the plan is valid. Takes any plan whatever: ids are checked before they are followed. At most some hundred
// violations are listed.
std::vector<Violation> check_plan(const Plan& plan);

// Empty: tensors and tasks of the plan are those of the graph (accumulating, with more than one round) for the plan's
// sub-batch, and nothing is recomputed that may not run again.
std::vector<Violation> check_against_graph(const Plan& plan, const TaskGraph& graph);

std::string_view to_string(Rule rule);

// "overlap: load:t writes …", one per line, for people.
std::string to_string(const std::vector<Violation>& violations);

}  // namespace plimsoll
