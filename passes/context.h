// What a pass may look at besides the plan it works on. All of it is const: decisions live in the plan.
#pragma once

#include <cstdint>
#include <limits>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "passes/analysis/choices.h"
#include "passes/deadline.h"
#include "passes/policy.h"

namespace plimsoll {

namespace schedule {
struct Model;
struct Op;
}

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// A plan that takes or needs as much, or comes as late, is of no use to who asked for it: the passes may stop as soon as they
// know.
struct Ceiling {
  double seconds = std::numeric_limits<double>::infinity();
  int64_t arena_bytes = kNoLimit;
  Deadline deadline = {};
};

struct Context {
  const TaskGraph& graph;  // with more than one round: accumulating(graph)
  const Choices& choices;  // for the plan's sub_batch and last_sub_batch
  Policy policy = {};
  // What live tensors and workspaces may come to at any step. The planner lowers it below the budget when an arena
  // came out higher than its live bytes; 0 asks for the least memory, whatever the time.
  int64_t live_limit = kNoLimit;
  LinkRates links = {};
  Ceiling ceiling = {};
  // What schedule::make_model gives for the plan as the order pass leaves it, where that is known already; null: it is not.
  const schedule::Model* model = nullptr;
  // Of policy auto, when a search over whole plans has decided: the steps. Null: the policy decides for itself.
  const std::vector<schedule::Op>* decided = nullptr;
};

}  // namespace plimsoll
