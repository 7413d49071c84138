// What a pass may read besides the plan that it changes. All of it is const: decisions are stored in the plan.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "passes/analysis/choices.h"
#include "passes/deadline.h"
#include "passes/policy.h"

namespace plimsoll {

class LastSeed;

// Limits beyond which the caller has no use for a plan. A pass may stop as soon as it knows that the plan reaches one
// of them.
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
  // fragmentation made an arena larger than its live bytes. 0 asks for minimum memory, whatever the time.
  int64_t live_limit = kNoLimit;
  LinkRates links = {};
  Ceiling ceiling = {};
  LastSeed* seed = nullptr;  // for tensors and tasks in common with other plans (last_seed.h)
};

}  // namespace plimsoll
