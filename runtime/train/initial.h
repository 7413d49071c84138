// Random initial weights. tools/initial_weights.py makes the same bits in NumPy; tests/train compares both.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/attrs/tensor.h"

namespace plimsoll::train {

// Draws weights of a parameter as He et al. 2015, fan-in mode: mean 0 and variance 2 / fan-in, which keeps the variance
// of activations through a ReLU. Weight i is a function of the seed, the parameter's name and i. `weights`: those from
// `begin`, in plain order.
void draw_he(std::string_view name, const TensorDesc& desc, uint64_t seed, int64_t begin, std::span<float> weights);

}  // namespace plimsoll::train
