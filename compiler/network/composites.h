// Replaces a group of primitive nodes by one node if a single operator computes the same: a table of patterns
// (pattern.h).
//
//   ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add     LayerNormalization (opsets below 17)
//   the same, as x · f + (bias - mean · f) with f = scale / root   LayerNormalization (Keras)
//   the same, of the variance max(mean of x² - mean², 0)           LayerNormalization (Flax)
//   Pow, ReduceMean, Add, Sqrt, Reciprocal, Mul, Mul               RMSNormalization (opsets below 23)
//   Reshape, LayerNormalization of the groups, Reshape, Mul, Add   GroupNormalization (PyTorch; simplify/spellings.cpp)
//   Div, Erf, Add, Mul, Mul                                        Gelu (error function; opsets below 20)
//   Mul, Pow, Mul, Add, Mul, Tanh, Add, Mul, or with 1 + c · x²    Gelu (tanh approximation: GPT-2, BLOOM)
//   Sigmoid, Mul                                                   Swish (opsets below 24; SiLU of PyTorch)
//   Softplus, Greater, Where                                       Softplus (PyTorch, with its threshold of 20)
//   HardSigmoid, Mul, or Add, Clip, Mul, Div                       HardSwish (opsets below 14; Keras)
//   Softplus, Tanh, Mul                                            Mish (opsets below 18)
//   Sigmoid, Log, or Sigmoid, Sub from 1, Log                      LogSigmoid (PyTorch, also for losses of logits)
//   Swish or Gelu, Mul with a tensor of its shape                  GatedProduct (SwiGLU, GEGLU)
//   Slice, Slice, Neg, Concat, Mul by sines, Mul by cosines, Add   Rotary (rotate_half of Llama and others)
//   Bernoulli(p), Div by p, Mul with a tensor of its shape         Dropout (PyTorch 2)
//   Transpose of the last two axes, MatMul                         MatMul that reads its operand transposed
//
// Why: as primitive nodes, each step saves a tensor of the input's size for the backward pass; the one operator saves
// only its input. A matrix that is transposed first is copied in every iteration and occupies memory twice. The
// logarithm of a Sigmoid is infinite where the Sigmoid is 0; LogSigmoid is finite.
//
// Before: types are inferred.   After: the same function; intermediate nodes without other readers are removed.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_composites(Network& network);

}  // namespace plimsoll
