// What Add, Sub, Mul, Div, Max and Min share. An operand is a tensor. Of the first four it may be a number known while
// compiling (a constant of one element), which then is an attribute of the task:
// Whole numbers have kernels of their own (compiler/ops/whole.h).
//   BinaryAdd, BinarySub, BinaryMul, BinaryDiv {a, b, y}     ScaleShift {x, y}: y = scale · x + shift
#pragma once

#include <optional>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_binary(const NodeView& node);

// Blocked where every operand has the result's dimensions, or one value per channel; else plain.
LayoutRule binary_layout(const NodeView& node);

// The number that operand `i` is; nullopt for a tensor.
std::optional<double> number_at(const NodeView& node, size_t i);

// y = kernel(a, b).
void forward_binary(TaskBuilder& build, std::string_view kernel, Attributes attributes = {});

// y = scale · x + shift, where x is the operand that is no number.
void forward_scaled(TaskBuilder& build, double scale, double shift);

// The gradient of operand `i`: `factor` times dy times the tensor `other`, summed where `i` was stretched.
void give_product_gradient(TaskBuilder& build, size_t i, const Operand& other);

// The gradient of the operand that is no number: scale · dy.
void give_scaled_gradient(TaskBuilder& build, double scale);

// The gradient of operand `i` by a kernel {operand, the other, dy, dx}. Its dx has the dimensions of y; where `i` was
// stretched, a further task sums it.
void give_gradient_by_both(TaskBuilder& build, size_t i, std::string_view kernel);

// Shapes that exercise broadcasting, with numbers drawn from [low, high).
std::vector<Sample> binary_samples(double low, double high);

}  // namespace plimsoll
