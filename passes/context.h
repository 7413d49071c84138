// What a pass may look at besides the plan it works on. All of it is const: decisions live in the plan.
#pragma once

#include <string>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

enum class OrderKind {
  depth_first,  // the graph's own order with every update as early as its gradient and readers allow
  low_peak,     // list scheduling that lowers the peak of live bytes
};

enum class PlaceKind { best_of, best_fit, by_size, by_area, by_lifetime };

struct Context {
  const TaskGraph& graph;  // with more than one round: accumulating(graph)
  const Costs& costs;      // prepared for the plan's sub_batch and last_sub_batch
  OrderKind order = OrderKind::depth_first;
  PlaceKind place = PlaceKind::best_of;
  bool share_memory = true;   // false: every tensor its own bytes for the whole round (network-wide)
  bool in_place = true;
};

}  // namespace plimsoll
