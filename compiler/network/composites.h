// Makes one node of what exporters spell out in many, where an operator says it all: a table of patterns (pattern.h).
//
//   ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add     LayerNormalization (opsets below 17)
//   Pow, ReduceMean, Add, Sqrt, Reciprocal, Mul, Mul               RMSNormalization (opsets below 23)
//   Reshape, LayerNormalization of the groups, Reshape, Mul, Add   GroupNormalization (PyTorch; simplify/spellings.cpp)
//   Div, Erf, Add, Mul, Mul                                        Gelu (of the error function; opsets below 20)
//   Mul, Pow, Mul, Add, Mul, Tanh, Add, Mul                        Gelu (approximated by tanh: GPT-2)
//   Sigmoid, Mul                                                   Swish (opsets below 24; SiLU of PyTorch)
//   Swish or Gelu, Mul with what has its shape                     GatedProduct (SwiGLU, GEGLU)
//   Bernoulli(p), Div by p, Mul with what has its shape            Dropout (PyTorch 2)
//   Transpose of the last two axes, MatMul                         MatMul that reads its operand transposed
//
// Why: spelled out, each step leaves a tensor of the input's size for the backward pass; the one operator leaves its
// input.
// A matrix that is transposed first is copied in every iteration, and lies in memory twice.
//
// Before: types are inferred.   After: the same function; what nobody else reads of the steps is gone.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_composites(Network& network);

}  // namespace plimsoll
