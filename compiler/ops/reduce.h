// ReduceSum and ReduceMean.   SumToShape {x, y}   BroadcastTo {dy, dx}; the backward reads nothing of the forward pass.
//   over samples              SumSamples {x, y}   SpreadSamples {dy, dx}
// ReduceMax, ReduceMin, ReduceProd, ReduceLogSumExp.   <Name>Forward {x, y}   <Name>Backward {x, y, dy, dx}
// Kernels see an output with the rank of the input and 1 in reduced dimensions, whatever `keepdims` is.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

// The axes are an attribute or input 1, depending on the opset.
Result<std::vector<TensorType>> infer_reduce(const NodeView& node);
// Height and width of an image may be reduced in any layout.
LayoutRule reduce_layout(const NodeView& node);
void forward_reduce(TaskBuilder& build, bool mean);
void backward_reduce(TaskBuilder& build, bool mean);
// Uses the kernels named after the operator.
void forward_reduce_by(TaskBuilder& build, int64_t flops);
// `twice`: the kernel reads all of x before it writes.
void backward_reduce_by(TaskBuilder& build, int64_t flops, bool twice);
// `axes_as_input`: the opset since which the axes are an input.
std::vector<Sample> reduce_samples(int axes_as_input, double low = -1, double high = 1);

}  // namespace plimsoll
