// What a pass may look at besides the plan it works on. All of it is const: decisions live in the plan.
#pragma once

#include <cstdint>
#include <limits>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "passes/analysis/choices.h"

namespace plimsoll {

enum class OrderKind {
  depth_first,  // the graph's own order with every update as early as its gradient and readers allow
  low_peak,     // list scheduling that lowers the peak of live bytes
  best_of,      // the one of both whose peak is lower; depth_first when they are equal
};

enum class PlaceKind { best_of, best_fit, by_size, by_area, by_lifetime };

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Context {
  const TaskGraph& graph;  // with more than one round: accumulating(graph)
  const Choices& choices;  // for the plan's sub_batch and last_sub_batch
  OrderKind order = OrderKind::best_of;
  PlaceKind place = PlaceKind::best_of;
  bool share_memory = true;  // false: every tensor its own bytes for the whole round (network-wide)
  bool in_place = true;
  // What live tensors and workspaces may come to at any step. The planner lowers it below the budget when an arena
  // came out higher than its live bytes; 0 asks for the smallest workspaces everywhere.
  int64_t live_limit = kNoLimit;
  double copy_bytes_per_second = 10e9;  // of one copy stream, modelled
};

}  // namespace plimsoll
