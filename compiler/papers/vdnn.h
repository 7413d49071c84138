// `--rules vdnn`: a network as vDNN (Rhu et al., MICRO 2016) counts it. The plans serve for reports only.
//
//   counted    feature maps: every distinct X, including the images, and the last Y. ReLU and dropout work in place and
//              have none. Two gradient buffers of the largest dY, which all layers use in turn (the paper does not say
//              how many a network with forks needs; two are counted). W, or W and dW. The workspace is a separate
//              figure in the paper and unknown (cuDNN 4): none here.
//   forward    DATA writes the images; CONV, FC, POOL, LRN, BN, JOIN, CONCAT and SOFTMAX own a Y
//   backward   layer              reads        writes
//              CONV, FC, BN       X  -  dY     dX, except of the images; adds to dW
//              POOL, LRN          X  Y  dY     dX
//              ACTV               -  Y         in dY
//              DROPOUT            -  -         in dY
//              JOIN, CONCAT       -  -  dY     dX; the first one of a JOIN is dY itself
//              SOFTMAX            -  Y         dX
//              If several layers read a value, their dX are summed in the first.
//   usage      feature maps and gradients, without W: this reproduces the paper's 4.8 GB and its savings.
//
// "VGG-16" is configuration E, 16 CONV and 3 FC: the zoo's vgg19. GB are 1000 MiB (kMiB).
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/papers/reading.h"

namespace plimsoll {

// Before: the network is as imported. Error: unsupported, listing every operator without a layer in the paper. Plan it
// with PlanRequest::keep_order.
Result<TaskGraph> vdnn_graph(const Network& network, int64_t batch);

struct VdnnFigures {
  int64_t feature_map_bytes = 0, gradient_buffer_bytes = 0;  // of the graph, with two buffers
  int64_t weight_bytes = 0, weight_gradient_bytes = 0;
  // Without workspace.
  int64_t baseline_bytes() const { return feature_map_bytes + gradient_buffer_bytes + weight_bytes; }
  // Of the plan: usage without weights.
  int64_t peak_bytes = 0;
  int64_t peak_step = 0;
  double average_bytes = 0;    // time average
  int64_t offloaded_bytes = 0;
  std::vector<int64_t> usage = {};  // per step
};
VdnnFigures vdnn_figures(const Plan& plan);

// Sets the summary and `rules` of the plan to what the paper counts: the baseline with W once, the peak without W.
void count_as_vdnn(Plan& plan);

// A TITAN X: convolutions reach 4 TFLOPS, memory 250 GB/s, and copies the 12.8 GB/s that the paper measured.
inline constexpr RooflineCosts::Rates kVdnnRates{4e12, 250e9, 12.8e9};

}  // namespace plimsoll
