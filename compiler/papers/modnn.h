// `--rules modnn`: a network as moDNN (Chen, Chen and Hu, DATE 2018) models and counts it: a task and data flow graph
// whose data blocks are the outputs Y of layers and their gradients δ; W and dW are always resident. For reports only.
//
//   layer       those of SuperNeurons' rules. A fork is not a layer; dropout works in place; the loss has no block
//   FP          reads X, W                    writes Y
//   BP1         reads δY, W, and X or Y       writes δX, or adds to it if another layer wrote it first
//   BP2         reads δY, X                   adds to dW
//   resident    W and dW: SW of equation 2. Optimizer state is not counted
//   in blocks   the images, every Y, every δ except that of the images
//
// The paper does not say what ReLU does, nor how many gradients exist at once. Two readings agree with all its figures:
//   (A) ReLU works in place, every δ has its own block            `relu` in_place, all_blocks
//   (B) ReLU has a Y; two gradient buffers of the largest δ       `relu` separate, two_gradients
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class ModnnRelu { in_place, separate };

// Before: the network is as imported. After: the tasks are in the order FP, then BP1 and BP2 from the last layer to the
// first. A task that adds to a δ reads it, as in papers/superneurons.h: plan it with PlanRequest::keep_order. Error:
// unsupported, listing all nodes without a layer in the paper.
Result<TaskGraph> modnn_graph(const Network& network, int64_t batch, ModnnRelu relu = ModnnRelu::in_place);

// Exact bytes. The paper's GB are 10^9.
struct ModnnFigures {
  int64_t weights = 0;        // W; dW has the same size
  int64_t all_blocks = 0;     // including W and dW: equation 1, "ideal"
  int64_t two_gradients = 0;  // the same with two gradient buffers
  int64_t largest_task = 0;   // M(t, 1): the blocks of one task at a sub-batch of one, without workspace
  int64_t lower_bound() const { return 2 * weights + largest_task; }  // equation 2
};
ModnnFigures modnn_figures(const TaskGraph& graph, int64_t batch);

// Sets the summary and `rules` of a plan of that graph to what the paper counts: network_wide_bytes is its ideal.
void count_as_modnn(Plan& plan, const TaskGraph& graph);

}  // namespace plimsoll
