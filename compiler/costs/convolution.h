// A cost model of convolution algorithms: arithmetic, traffic and workspace of those that cuDNN has (and oneDNN's
// direct one), derived from how each works. Not the figures of any library version.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/costs/device.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

enum class ConvDirection { forward, backward_data, backward_weights };

// y[n,k,p,q] = Σ x[n,c,…] · w[k,c,r,s], for all three directions; c counts within a group.
struct ConvShape {
  ConvDirection direction = ConvDirection::forward;
  int64_t samples = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // over all groups
  int64_t height = 0, width = 0, out_height = 0, out_width = 0;
  int64_t kernel_height = 0, kernel_width = 0;
  int64_t kernel_depth = 1, out_depth = 1;     // three-dimensional convolutions only
  bool is_volume = false;                      // three-dimensional
  int64_t pad_height = 0, pad_width = 0;  // sum of both sides
  bool dense_steps = true;                // all strides and dilations are 1
  bool channels_last = false;             // layout of all three tensors
  int64_t bytes = 0;                      // of all operands
  int64_t image_bytes = 0;                // of x and y
};

// nullopt if the task is not a convolution.
std::optional<ConvShape> convolution_of(const Task& task, int64_t samples);

// Bytes of the images that must first be transposed to the kernel's layout, or padded. Kernels on tensor cores read
// channels last, four at a time; all others, except the simplest, read plane by plane. This agrees with cuDNN's exact
// workspaces: of its engines on an H200, those on tensor cores need the bytes of x and y for nchw and nothing for nhwc,
// and those in f32 the reverse (tests/cudnn/engines_test.cpp). The copy lies in the workspace, and is written and read
// once more.
int64_t bytes_turned_around(const ConvShape& shape, bool on_tensor_cores);

// Two operations per product in the definition above.
double direct_flops(const ConvShape& shape);

bool is_convolution_algorithm(std::string_view name);

// The device's algorithms that support this shape, fastest first; never empty.
std::vector<AlgorithmCost> convolution_algorithms(const Device& device, const ConvShape& shape);

// Seconds of `flops` at a fraction of the peak. The work is split into pieces, and the last ones leave units idle:
//
//   unit 0  ▇▇▇▇▇▇▇▇▇     pieces / units rounds, plus one piece on average:
//   unit 1  ▇▇▇▇▇▇        the loss of a small sub-batch
double compute_seconds(const Device& device, double flops, double share);

}  // namespace plimsoll
