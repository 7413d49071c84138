// ReduceSum and ReduceMean.   SumToShape {x, y}   BroadcastTo {dy, dx}; nothing of the forward pass is read again.
//   of samples                SumSamples {x, y}   SpreadSamples {dy, dx}
// ReduceMax, ReduceMin, ReduceProd, ReduceLogSumExp.   <Name>Forward {x, y}   <Name>Backward {x, y, dy, dx}
// To the kernels the output has all dimensions of the input, 1 where it was reduced, whatever `keepdims` says.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

// Axes are an attribute or input 1, as the opset has it.
Result<std::vector<TensorType>> infer_reduce(const NodeView& node);
// Height and width of an image may be reduced in any layout.
LayoutRule reduce_layout(const NodeView& node);
void forward_reduce(TaskBuilder& build, bool mean);
void backward_reduce(TaskBuilder& build, bool mean);
// By the kernels of the operator's name.
void forward_reduce_by(TaskBuilder& build, int64_t flops);
// `twice`: the kernel looks at all of x before it writes.
void backward_reduce_by(TaskBuilder& build, int64_t flops, bool twice);
// `axes_as_input`: the opset from which the axes are an input.
std::vector<Sample> reduce_samples(int axes_as_input, double low = -1, double high = 1);

}  // namespace plimsoll
