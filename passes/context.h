// The read-only inputs of a pass. Decisions are stored in the plan.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "passes/analysis/choices.h"
#include "passes/deadline.h"
#include "passes/policy.h"

namespace plimsoll {

class LastSeed;
namespace placement {
class LastSolutions;
}

// A plan that reaches one of these limits is useless to the caller. The pipeline stops once it knows that the plan does
// (pipeline.h).
struct Ceiling {
  double seconds = std::numeric_limits<double>::infinity();
  int64_t arena_bytes = kNoLimit;
  Deadline deadline = {};
};

struct Context {
  const TaskGraph& graph;  // with more than one round: accumulating(graph)
  const Choices& choices;  // for the plan's sub_batch and last_sub_batch
  Policy policy = {};
  // Upper limit on the bytes of live tensors and workspaces at any step. The planner sets it below the budget when
  // fragmentation made an arena larger than its live bytes. 0 means minimum memory, whatever the time.
  int64_t live_limit = kNoLimit;
  LinkRates links = {};
  Ceiling ceiling = {};
  int threads = 1;  // that a pass may use
  LastSeed* seed = nullptr;  // shares tensors and tasks with other plans (seed_plan.h); null: not shared
  placement::LastSolutions* placements = nullptr;  // of other plans (place/last_solutions.h); null: not shared
};

}  // namespace plimsoll
