// `--rules vdnn`: a network as vDNN (Rhu et al., MICRO 2016) counts it. The plans are for reports.
//
//   counted    feature maps: every distinct X, the images included, and the last Y. ReLU and dropout work in place, so they
//              own none. Two gradient buffers of the largest dY, which all layers use in turn (for networks with forks the
//              paper does not say how many are needed; two are counted). W, or W and dW. The workspace is on a line of its
//              own in the paper and unknown (cuDNN 4): none here.
//   forward    DATA writes the images; CONV, FC, POOL, LRN, BN, JOIN, CONCAT and SOFTMAX own a Y
//   backward   layer              reads        writes
//              CONV, FC, BN       X  -  dY     dX, but none of the images; adds to dW
//              POOL, LRN          X  Y  dY     dX
//              ACTV               -  Y         in dY
//              DROPOUT            -  -         in dY
//              JOIN, CONCAT       -  -  dY     dX, a JOIN's first being dY itself
//              SOFTMAX            -  Y         dX
//              Where a value goes to several layers, their dX are added up in the first.
//   usage      feature maps and gradients, without W: what the paper's 4.8 GB and its savings come out with.
//
// "VGG-16" is configuration E, 16 CONV and 3 FC: the zoo's vgg19. GB are 1000 MiB (kMiB).
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/papers/reading.h"

namespace plimsoll {

// Before: the network is as it was imported. Error: unsupported, with each operator that the paper has no layer for.
// Plan it with PlanRequest::keep_order.
Result<TaskGraph> vdnn_graph(const Network& network, int64_t batch);

struct VdnnFigures {
  int64_t feature_map_bytes = 0, gradient_buffer_bytes = 0;  // of the graph: two buffers
  int64_t weight_bytes = 0, weight_gradient_bytes = 0;
  int64_t baseline_bytes() const { return feature_map_bytes + gradient_buffer_bytes + weight_bytes; }  // no workspace
  // Of the plan: usage without weights.
  int64_t peak_bytes = 0;
  int64_t peak_step = 0;
  double average_bytes = 0;    // over time
  int64_t offloaded_bytes = 0;
  std::vector<int64_t> usage = {};  // at each step
};
VdnnFigures vdnn_figures(const Plan& plan);

// Makes the summary and `rules` of the plan say what the paper counts: the baseline with W once, the peak without W.
void count_as_vdnn(Plan& plan);

// A TITAN X at what convolutions reach on it, 4 TFLOPS, at 250 GB/s, and the 12.8 GB/s that the paper measured for copies.
inline constexpr RooflineCosts::Rates kVdnnRates{4e12, 250e9, 12.8e9};

}  // namespace plimsoll
