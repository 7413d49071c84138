// ReduceSum and ReduceMean.   SumToShape {x, y}   BroadcastTo {dy, dx}; nothing of the forward pass is read again.
// To the kernels the output has all dimensions of the input, 1 where it was reduced, whatever `keepdims` says.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

// Axes are an attribute or input 1, as the opset has it. Error: the samples are reduced.
Result<std::vector<TensorType>> infer_reduce(const NodeView& node);
// Height and width of an image may be reduced in any layout.
LayoutRule reduce_layout(const NodeView& node);
void forward_reduce(TaskBuilder& build, bool mean);
void backward_reduce(TaskBuilder& build, bool mean);
// `axes_as_input`: the opset from which the axes are an input.
std::vector<Sample> reduce_samples(int axes_as_input);

}  // namespace plimsoll
