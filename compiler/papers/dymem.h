// `--rules dymem`: a network as Dymem (HPDC 2020) models and counts it. For reports only.
//
// Its layers, their operands and what is counted are those of SuperNeurons' rules: CONV, ACT, FORK, JOIN …, each with a
// forward and a backward step, activations and their gradients, no weights. The figure differs: the paper measures
// addresses, from the lowest to the highest in use, including free bytes in between that no request could use. So the
// figure is the arena of a plan, and the policy determines the allocator:
//
//   high-water     arena_bytes      of the two-ended pool, with policy `dymem`
//   live           live_bytes       tensors at the peak, exact
//   fragmentation  the difference of the two
//
// Workspaces are omitted, because the paper does not state its algorithms.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Like superneurons_graph(). Plan it in graph order, because tasks that change a gradient only read it in the graph.
Result<TaskGraph> dymem_graph(const Network& network, int64_t batch);

// Sets the summary and `rules` of a plan of that graph to what the paper counts.
void count_as_dymem(Plan& plan);

}  // namespace plimsoll
