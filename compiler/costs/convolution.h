// What the ways of computing a convolution cost: arithmetic, traffic and workspace of the algorithms that cuDNN has
// (and oneDNN's direct one), after how each of them works. Figures of no library version: a model, and called so.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/costs/device.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

enum class ConvDirection { forward, backward_data, backward_weights };

// y[n,k,p,q] = Σ x[n,c,…] · w[k,c,r,s], whichever of the three is asked for; c counts within a group.
struct ConvShape {
  ConvDirection direction = ConvDirection::forward;
  int64_t samples = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of all groups
  int64_t height = 0, width = 0, out_height = 0, out_width = 0;
  int64_t kernel_height = 0, kernel_width = 0;
  int64_t kernel_depth = 1, out_depth = 1;     // over three dimensions
  bool is_volume = false;                      // over three dimensions
  int64_t pad_height = 0, pad_width = 0;  // of both sides together
  bool dense_steps = true;                // strides and dilations are 1
  bool channels_last = false;             // of all three tensors
  int64_t bytes = 0;                      // of all operands
  int64_t image_bytes = 0;                // of x and y
};

// Nothing where the task is no convolution.
std::optional<ConvShape> convolution_of(const Task& task, int64_t samples);

// Bytes of the images that kernels have to turn around first, or padded, for they read them the other way: those on tensor cores
// channels last, four at a time, all others but the plainest plane by plane. cuDNN's exact workspaces show it: of its engines on an
// H200 those on tensor cores ask for the bytes of x and y in nchw and for nothing in nhwc, those in f32 the other way round
// (tests/cudnn/engines_test.cpp). A copy is in the workspace, and is written and read once more.
int64_t bytes_turned_around(const ConvShape& shape, bool on_tensor_cores);

// Two for each product of the definition above.
double direct_flops(const ConvShape& shape);

bool is_convolution_algorithm(std::string_view name);

// Of the device's, those that can do this shape; never empty. Fastest first.
std::vector<AlgorithmCost> convolution_algorithms(const Device& device, const ConvShape& shape);

// Seconds of `flops` at a share of the peak. The work is dealt out in pieces, and the last ones leave units idle:
//
//   unit 0  ▇▇▇▇▇▇▇▇▇     pieces / units rounds, and on average one piece more:
//   unit 1  ▇▇▇▇▇▇        what a small sub-batch loses
double compute_seconds(const Device& device, double flops, double share);

}  // namespace plimsoll
