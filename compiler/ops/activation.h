// Shared by unary elementwise operators.
//   <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is y, or x if the gradient cannot be computed from y
// If the backward task reads the output, the input need not be kept, and the output may overwrite it.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/activation.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_same(const NodeView& node);

void forward_activation(TaskBuilder& build, const Attributes& attributes = {}, int64_t flops = 1);

enum class Remembers { output, input };
void backward_activation(TaskBuilder& build, Remembers what, const Attributes& attributes = {}, int64_t flops = 1);

// The backward of an operator whose gradient is zero everywhere (Floor, Sign): it adds no task. A value that receives
// no gradient has a zero gradient. An operator without a backward is rejected if a trained parameter is upstream of it.
void zero_gradient(TaskBuilder& build);

// dx = kernel(a, b), if a kernel shared with other operators is enough.
void backward_by(TaskBuilder& build, std::string_view kernel, const Operand& a, const Operand& b);

// A row and an image with values in [low, high).
std::vector<Sample> activation_samples(double low, double high, std::map<std::string, NodeAttribute> attributes = {});

}  // namespace plimsoll
