// Shared by Softmax and LogSoftmax: <Name>Forward {x, y}, <Name>Backward {y, dy, dx}, all viewed as [outer, classes,
// inner]. Before opset 13 the operator works on a matrix: all dimensions from `axis` on are classes.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_softmax(const NodeView& node);
void forward_softmax(TaskBuilder& build);
void backward_softmax(TaskBuilder& build);
bool softmax_normalizes(const NodeView& node, size_t axis);
std::vector<Sample> softmax_samples();

}  // namespace plimsoll
