// `--rules superneurons`: a network as SuperNeurons (Wang et al., PPoPP 2018) models and counts it, so that the paper's
// figures can be reproduced. The plans serve for reports only: no kernel works this way, and no trainer is made from
// them.
//
//   layer      an operator is a layer with one forward and one backward step: layer i of N runs at the steps i and
//              2N+1-i. If several layers read a value, a FORK is inserted.
//   counted    activations and their gradients. The graph omits the images, weights and their gradients, optimizer
//              state, statistics, dropout masks and workspaces, because they are not counted.
//   forward    nothing is in place: every layer has an output, a FORK one copy per branch.
//   backward   layer              reads        writes
//              CONV, FC           x  -  dy     dx, the images' too
//              POOL               x  y  dy     dx
//              BN                 x  -  dy     dx
//              DROPOUT, CONCAT    -  -  dy     dx, one for each input
//              JOIN               -  -  dy     dx for each input except the first, whose gradient is dy itself
//              ACT, LRN           x  y  dy     in dy (which an LRN has in two slots: as dy and as dx)
//              SOFTMAX            x  y         in y
//              FORK               -  -  dy's   sums them in the first
//
// Where the paper's text and its numbers disagree, the numbers were followed (docs/papers.md).
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Before: the network is as imported, with or without a loss; nothing is fused, no layout is chosen. After: task i - 1
// is step i. Tensors of a task graph never change, so a gradient that layers change in place is one tensor that those
// layers read; only the task order says that they precede the next reader. Plan it with PlanRequest::keep_order. Error:
// unsupported, listing all nodes without a layer in the paper.
Result<TaskGraph> superneurons_graph(const Network& network, int64_t batch);

// What the paper counts in a plan of that graph. Bytes are exact and not aligned, as in the paper.
struct SuperNeuronsFigures {
  int64_t layers = 0;
  int64_t tensors = 0;
  int64_t network_wide_bytes = 0;   // all tensors together: the paper's baseline
  int64_t peak_bytes = 0;
  int64_t peak_step = 0;            // from 1; a recomputation counts as part of the backward task that it serves
  int64_t peak_live_tensors = 0;
  int64_t most_live_tensors = 0;    // over all steps
  // The paper's max(l_i), the largest sum over one layer: with an LRN's dx counted although it lies in dy (as in the
  // paper's text), and with each tensor counted once.
  int64_t largest_layer_bytes = 0;
  int64_t largest_layer_distinct_bytes = 0;
};
SuperNeuronsFigures superneurons_figures(const Plan& plan);

// Sets the summary and `rules` of the plan to what the paper counts.
void count_as_superneurons(Plan& plan);

// Costs for such plans: no workspaces; times of the paper's K40c from arithmetic and bytes alone (modelled).
class SuperNeuronsCosts : public Costs {
 public:
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;

 private:
  std::map<std::pair<std::string, int64_t>, AlgorithmCost> costs_;  // by task name and samples
};

}  // namespace plimsoll
