// Shared by Add, Sub, Mul, Div, Max and Min. An operand is a tensor. Add, Sub, Mul and Div also accept a number known
// at compile time (a constant of one element), which becomes an attribute of the task.
//   BinaryAdd, BinarySub, BinaryMul, BinaryDiv {a, b, y}     ScaleShift {x, y}: y = scale · x + shift
// Integers have separate kernels (compiler/ops/whole.h).
#pragma once

#include <optional>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_binary(const NodeView& node);

// Blocked if every operand has the result's dimensions, or one value per channel; otherwise plain.
LayoutRule binary_layout(const NodeView& node);

// The value of operand `i` if it is a number; nullopt for a tensor.
std::optional<double> number_at(const NodeView& node, size_t i);

// y = kernel(a, b).
void forward_binary(TaskBuilder& build, std::string_view kernel, Attributes attributes = {});

// y = scale · x + shift, where x is the tensor operand.
void forward_scaled(TaskBuilder& build, double scale, double shift);

// The gradient of operand `i`: `factor` times dy times the tensor `other`, summed over the dimensions in which `i` was
// broadcast.
void give_product_gradient(TaskBuilder& build, size_t i, const Operand& other);

// The gradient of the tensor operand: scale · dy.
void give_scaled_gradient(TaskBuilder& build, double scale);

// The gradient of operand `i` by a kernel {operand, the other operand, dy, dx}, whose dx has the dimensions of y. If
// `i` was broadcast, a further task sums it.
void give_gradient_by_both(TaskBuilder& build, size_t i, std::string_view kernel);

// Shapes that exercise broadcasting, with values drawn from [low, high).
std::vector<Sample> binary_samples(double low, double high);

}  // namespace plimsoll
