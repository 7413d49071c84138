// What operators of one operand that work element by element share.
//   <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is y, or x where the output does not tell enough
// Where the backward task reads the output, the input may die, or be overwritten by the output.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/activation.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_same(const NodeView& node);

void forward_activation(TaskBuilder& build, const Attributes& attributes = {}, int64_t flops = 1);

enum class Remembers { output, input };
void backward_activation(TaskBuilder& build, Remembers what, const Attributes& attributes = {}, int64_t flops = 1);

// The backward of an operator whose gradient is zero everywhere (Floor, Sign): it makes no task. A value that gets no
// gradient has the gradient zero. An operator without a backward is refused where a trained parameter is upstream of it.
void zero_gradient(TaskBuilder& build);

// dx = kernel(a, b), where a kernel that others use too is all it takes.
void backward_by(TaskBuilder& build, std::string_view kernel, const Operand& a, const Operand& b);

// A row and an image with values in [low, high).
std::vector<Sample> activation_samples(double low, double high, std::map<std::string, NodeAttribute> attributes = {});

}  // namespace plimsoll
