// What passes must know of operators before their meaning (compiler/ops) is asked: which inputs are not data.
#pragma once

#include <cstddef>
#include <string_view>

namespace plimsoll {

enum class Slot {
  data,       // lies in the arena
  constant,   // known while compiling: axes, shapes, bounds, ratios
  number,     // a constant where it is a single known number, data otherwise: x · 0.5
  weight,     // data, and by its place a weight of this one layer: a bias, a scale
  state,      // of a recurrent network before the first step: may be left out where it is zero, as it is for any batch
  statistic,  // running mean, running variance
};

Slot slot_of(std::string_view op, size_t input);

// Inputs that the operator cannot do without: the first so many must be there before its own checks may look at them.
size_t required_inputs(std::string_view op);

// The most outputs that ONNX gives the operator in any opset that is read.
size_t most_outputs(std::string_view op);

}  // namespace plimsoll
