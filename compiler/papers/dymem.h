// `--rules dymem`: a network as Dymem (HPDC 2020) sees it and counts it. For reports.
//
// Its layers, what they read and write, and what is counted are those of SuperNeurons' rules: CONV, ACT, FORK, JOIN … each
// with a step forward and one backward, activations and their gradients, no weights. What differs is the figure: the
// paper measures addresses, from the lowest that is taken to the highest, with the bytes between that are free but that
// no request could have. So the figure is the arena of a plan, and the policy says whose allocator gives the addresses:
//
//   high-water     arena_bytes      of the two-ended pool, with policy `dymem`
//   live           live_bytes       tensors at the peak, exact
//   fragmentation  their difference
//
// Workspaces are left out, for the paper does not say which algorithms it had.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

// As superneurons_graph(), and planned as that is: in the order of the graph, for who changes a gradient reads it there.
Result<TaskGraph> dymem_graph(const Network& network, int64_t batch);

// Makes the summary and `rules` of a plan of that graph say what the paper counts.
void count_as_dymem(Plan& plan);

}  // namespace plimsoll
