// `--rules chen`: a network as Chen et al. ("Training Deep Nets with Sublinear Memory Cost", 2016) count it in MXNet.
// The plans serve for reports only.
//
//   counted    the output of every operator, and a gradient for every edge; if several operators read a value, one more
//              tensor holds the sum of their gradients. Parameters and their gradients are counted separately (the
//              paper's figure for the whole run). Images, their pieces, labels and workspaces are not counted.
//   in place   forward: activations, sums. backward: BN, activations, softmax, sums. So an activation overwrites the
//              output of its BN, which has no later reader.
//   backward   operator             reads
//              Conv, FC, BN, Mul    X  -  dY
//              activations          -  Y  dY
//              Softmax              -  Y
//              pools, LRN           X  Y  dY
//              others               -  -  dY
//
// Figures: without optimization, a network takes the sum of all tensors; with sharing, the plan of policy `liveness`
// under the paper's allocator; the paper's own plan is policy `sublinear`, under the same allocator. GB are GiB.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/papers/reading.h"

namespace plimsoll {

// Before: the network is as imported. Error: unsupported, listing every operator that has no layer. Plan it with
// PlanRequest::keep_order.
Result<TaskGraph> chen_graph(const Network& network, int64_t batch);

struct ChenFigures {
  int64_t all_bytes = 0;        // outputs and gradients, without sharing
  int64_t planned_bytes = 0;    // arena of our plan, without parameters
  // The same lifetimes under the paper's allocator. It reuses a block as a whole, for a tensor up to 16 times smaller
  // or larger, and a larger tensor enlarges the block permanently. The paper's "48 GB" is this figure.
  int64_t matched_bytes = 0;
  int64_t live_bytes = 0;       // at its peak
  int64_t parameter_bytes = 0;  // W and dW
  double recompute_share = 0;   // fraction of the time of the plan without recomputation
};
ChenFigures chen_figures(const Plan& plan);

// Sets the summary and `rules` of the plan to what the paper counts: without parameters.
void count_as_chen(Plan& plan);

// A TITAN X: the rate that convolutions reach on it, and most of its memory bandwidth.
inline constexpr RooflineCosts::Rates kChenRates{4e12, 250e9, 12e9};

}  // namespace plimsoll
