// Chooses the nodes whose images are channels last (nhwc), by the cost of their tasks in either layout.
//
// What: two networks are built, all plain and all channels last. `costs` gives a time for each of their tasks, and for
// each Reorder between neighbours that disagree. A minimum cut (min_cut.h) finds the assignment with the lowest sum:
//
//   conv ─ batch norm ─ relu ─ conv       a node:  the time of its tasks, forward and backward, plain or channels last
//        └──────── value ──────────       a value: if its maker and a reader disagree, one Reorder (for all readers),
//                                                  and one for the gradient if it has one
//
// Before: types are inferred, all layouts plain; activations are fused (this determines the tasks).
// After:  the network is unchanged; assign_layouts (layout.h) applies the choice.
// Why here: layouts determine sizes, so they are chosen before the task graph is built. But times belong to tasks, so
// temporary task graphs are built to obtain them.
//
// Times are those of the fastest algorithms at `samples` per round, regardless of memory: the budget applies later. If
// times are equal, layouts stay plain.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/training/build.h"

namespace plimsoll {

struct LayoutChoice {
  IdVector<NodeId, bool> last = {};   // by node: channels last
  size_t nodes_last = 0, nodes = 0;   // nodes that are channels last; nodes that could be
  size_t reorders = 0;                // values that exist in both layouts
  // The time of all tasks of a round: all plain; channels last wherever possible; as chosen.
  double plain_seconds = 0, last_seconds = 0, seconds = 0;
};

// The task graphs to be measured: all plain, all channels last, and the reorders. Error: from build_task_graph.
Result<std::vector<TaskGraph>> graphs_of_layouts(const Network& network, const TrainingOptions& options);

// Errors: from build_task_graph, and from Costs::prepare, for example if a profile has no times for one layout.
// `in_rounds`: there are several rounds, so gradients are accumulated.
Result<LayoutChoice> choose_layouts(const Network& network, const TrainingOptions& options, Costs& costs,
                                    int64_t samples, bool in_rounds);

}  // namespace plimsoll
