// `--rules modnn`: a network as moDNN (Chen, Chen and Hu, DATE 2018) sees it and counts it: a task and data flow graph
// whose data blocks are the outputs Y of layers and their gradients δ, beside what always resides, W and dW. For reports.
//
//   layer       those of SuperNeurons' rules. A fork is no layer; dropout works in place; the loss has no block
//   FP          reads X, W                    writes Y
//   BP1         reads δY, W, and X or Y       writes δX, or adds to it where another layer wrote it first
//   BP2         reads δY, X                   adds to dW
//   resides     W and dW: SW of equation 2. The optimizer's state is not counted
//   in blocks   the images, every Y, every δ but that of the images
//
// The paper does not say what ReLU does, nor how many gradients there are at once. Two readings meet all its figures:
//   (A) ReLU works in place, every δ has its block        `relu` in_place, all_blocks
//   (B) ReLU has a Y, two gradient buffers as large as the largest δ        `relu` separate, two_gradients
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class ModnnRelu { in_place, separate };

// Before: the network is as it was imported. After: the order of the tasks is FP, then BP1 and BP2 from the last layer to
// the first. Who adds to a δ reads it, as in rules/superneurons.h: plan it with PlanRequest::keep_order.
// Error: unsupported, with all nodes that the paper has no layer for.
Result<TaskGraph> modnn_graph(const Network& network, int64_t batch, ModnnRelu relu = ModnnRelu::in_place);

// Exact bytes. The paper's GB are 10^9.
struct ModnnFigures {
  int64_t weights = 0;        // W; dW is as much again
  int64_t all_blocks = 0;     // with W and dW: equation 1, "ideal"
  int64_t two_gradients = 0;  // the same with two gradient buffers
  int64_t largest_task = 0;   // M(t, 1): the blocks of one task at a sub-batch of one, no workspace
  int64_t lower_bound() const { return 2 * weights + largest_task; }  // equation 2
};
ModnnFigures modnn_figures(const TaskGraph& graph, int64_t batch);

// Makes the summary and `rules` of a plan of that graph say what the paper counts: network_wide_bytes is its ideal.
void count_as_modnn(Plan& plan, const TaskGraph& graph);

}  // namespace plimsoll
