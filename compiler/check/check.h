// The plan checker. It verifies a plan from the plan alone, as in plan.json. It is independent of how the plan was
// made, and shares no code with any pass. It runs at the end of every compile; a plan that it rejects is never emitted.
//
// Why an accepted plan is correct, whatever the duration of any kernel or copy:
//   1. Any two accesses to the same bytes, one of which changes them, are ordered by happens-before
//      (happens_before.h). So every interleaving of the streams computes the same result as the issue order.
//   2. In issue order, each residency begins with a step that stores the tensor's value there, no other tensor is
//      written to those bytes before its last access, and the value is the current one. So every read finds the value
//      that the graph specifies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// The rule of docs/plan-format.md that is violated.
enum class Rule {
  form,  // an id that does not exist, a step on the wrong stream, a tensor with two producers, inconsistent rounds
  execution,   // a task is missing, runs twice, or is recomputed although it may not be
  // An access outside all residencies of its tensor or in two; a residency with no access at one of its ends.
  residency,
  value,       // a read of something that was not stored there before
  overlap,     // two uses of the same arena bytes without an order between them
  // The same in the host pool; a prefetch of something never offloaded; a host-resident tensor that is not written
  // back.
  host_slot,
  workspace,   // smaller than the step's algorithm needs
  bounds,      // outside the arena, the host pool or the budget; not aligned
  current,     // a weight read after its update; updates out of order
  result,      // the loss does not live to the end of the round
  summary,     // a figure of the summary disagrees with the plan
  graph,       // the plan's tasks or tensors differ from the graph's
};

struct Violation {
  Rule rule = Rule::form;
  StepId step = {};      // the step concerned, if any
  TensorId tensor = {};  // the tensor concerned, if any
  std::string message;   // with names and numbers
};

// Returns an empty list for a valid plan. Accepts arbitrary plans: ids are validated before use. Lists at most 200
// violations. With two threads, independent parts run concurrently; the list is the same.
std::vector<Violation> check_plan(const Plan& plan, int threads = 1);

// Returns an empty list if tensors and tasks of the plan are those of the graph for the plan's sub-batch, and only
// tasks that may be recomputed are. With more than one round they accumulate gradients, whether or not the graph does.
// The plan may have slices of the graph's weights and optimizer state, each with an update task of its own.
std::vector<Violation> check_against_graph(const Plan& plan, const TaskGraph& graph);

std::string_view to_string(Rule rule);

// One violation per line, for example "overlap: load:t writes …".
std::string to_string(const std::vector<Violation>& violations);

}  // namespace plimsoll
