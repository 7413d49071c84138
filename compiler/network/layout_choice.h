// Which nodes of a network have their images channels last (nhwc), by what their tasks cost in either layout.
//
// What: every task of both networks, all plain and all channels last, has a time from `costs`; so has every Reorder that would stand
// where neighbours disagree. The labels of the least sum are a minimum cut (min_cut.h):
//
//   conv ─ batch norm ─ relu ─ conv       a node:  its tasks' seconds, forward and backward, plain or channels last
//        └──────── value ──────────       a value: where its maker and a reader disagree, a Reorder (one for all readers), and,
//                                                  where it has a gradient, one back
//
// Before: types are inferred, all layouts plain; activations are fused (they decide which tasks there are).
// After:  nothing is changed; assign_layouts (layout.h) does what is chosen.
// Why here: layouts decide sizes, so before the task graph; times are of tasks, so graphs are built to ask for them, and dropped.
//
// Times are those of the fastest algorithms at `samples` in a round, whatever the memory: a budget comes later. At equal times all
// stays plain.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/training/build.h"

namespace plimsoll {

struct LayoutChoice {
  IdVector<NodeId, bool> last = {};   // by node: channels last
  size_t nodes_last = 0, nodes = 0;   // those that are; those that could be
  size_t reorders = 0;                // values of which there are both
  // Of all tasks of a round: all plain; all channels last that can be; as chosen.
  double plain_seconds = 0, last_seconds = 0, seconds = 0;
};

// The task graphs that have to be asked for: all plain, all channels last, and the reorders. Error: of build_task_graph.
Result<std::vector<TaskGraph>> graphs_of_layouts(const Network& network, const TrainingOptions& options);

// Error: of build_task_graph and of Costs::prepare, for example where a profile has no times of one layout.
// `in_rounds`: there are several, so that gradients are added to.
Result<LayoutChoice> choose_layouts(const Network& network, const TrainingOptions& options, Costs& costs, int64_t samples, bool in_rounds);

}  // namespace plimsoll
