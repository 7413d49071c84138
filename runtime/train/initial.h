// First weights without a file. tools/initial_weights.py makes the same bits in NumPy; tests/train holds them together.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/attrs/tensor.h"

namespace plimsoll::train {

// Draws the weights of a parameter after He et al. 2015, fan in: mean 0, and the variance, 2 over the inputs of an output,
// that keeps the size of activations through a ReLU. Weight i is a function of the seed, the parameter's name and i alone.
// `plain` has room for all elements, in plain order.
void draw_he(std::string_view name, const TensorDesc& desc, uint64_t seed, float* plain);

}  // namespace plimsoll::train
