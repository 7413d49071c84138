// ConvBackwardWeights of depthwise convolutions in two dimensions: algorithm `depthwise`.
//
//   dw[c, i, j] = Σ dy[c, row, column] · x[c, row · stride + i · dilation - pad, column · stride + j · dilation - pad]
//   db[c]       = Σ dy[c, row, column]         over samples, rows and columns
//
// oneDNN has vectorized kernels for a few shapes (docs/decisions/depthwise.md). This one is vectorized over channels,
// for every size, stride, dilation and padding and every layout. A work item has the channels of one vector, and some
// of the rows of dy, counted over all samples. Each row that it reads is first converted to f32, with the channels of a
// pixel side by side and zeros in place of padding:
//
//   workspace  | sums of work item 0 | sums of work item 1 | … | buffers of lane 0 | buffers of lane 1 | …
//   sums       | dw[0, 0] | dw[0, 1] | … | db |                    a vector each
//   buffers    | the rows of x that one row of dy needs | that row of dy |    a vector for each pixel
//
// The sums of the work items are added in order. Work items follow from the shape, so the bits do not depend on the
// number of threads.
#pragma once

#include <memory>
#include <span>

#include "runtime/kernels.h"

namespace plimsoll::host {

// No kernel: the convolution does not have one output channel for each input channel, or an operand has a layout or a
// type that this kernel does not read.
struct DepthwiseWeights {
  std::unique_ptr<Kernel> kernel;
  int64_t workspace_bytes = 0;
};
DepthwiseWeights depthwise_weights(const ConvAttrs& attrs, std::span<const OperandDesc> operands);

}  // namespace plimsoll::host
