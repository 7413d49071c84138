// `--rules chen`: a network as Chen et al. ("Training Deep Nets with Sublinear Memory Cost", 2016) count it in MXNet. The
// plans are for reports.
//
//   counted    the output of every operator and a gradient for every edge; where a value goes to several operators, their
//              gradients are added up in one more. Parameters and their gradients are counted apart (the paper's figure for
//              the whole run); images, their pieces, labels and workspaces are not.
//   in place   forward: activations, sums. backward: BN, activations, softmax, sums. So an activation lies on the output of
//              its BN, which nobody reads again.
//   backward   operator             reads
//              Conv, FC, BN, Mul    X  -  dY
//              activations          -  Y  dY
//              Softmax              -  Y
//              pools, LRN           X  Y  dY
//              others               -  -  dY
//
// Without any optimization a network takes the sum of all tensors; with sharing, the plan of policy `liveness` under the
// paper's allocator; the paper's plan is policy `sublinear`, likewise. GB are GiB.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/papers/reading.h"

namespace plimsoll {

// Before: the network is as it was imported. Error: unsupported, with each operator that there is no layer for.
// Plan it with PlanRequest::keep_order.
Result<TaskGraph> chen_graph(const Network& network, int64_t batch);

struct ChenFigures {
  int64_t all_bytes = 0;        // outputs and gradients, nothing shared
  int64_t planned_bytes = 0;    // our arena, without parameters
  // The same lifetimes under the paper's allocator: a block is taken again whole, by what is up to 16 times smaller or
  // larger, and a larger tenant makes it larger for good. "48 GB" is this figure.
  int64_t matched_bytes = 0;
  int64_t live_bytes = 0;       // at its peak
  int64_t parameter_bytes = 0;  // W and dW
  double recompute_share = 0;   // of the time that the plan would take without
};
ChenFigures chen_figures(const Plan& plan);

// Makes the summary and `rules` of the plan say what the paper counts: no parameters.
void count_as_chen(Plan& plan);

// A TITAN X: what convolutions reach on it, and most of what its memory moves.
inline constexpr RooflineCosts::Rates kChenRates{4e12, 250e9, 12e9};

}  // namespace plimsoll
