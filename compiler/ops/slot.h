// The role of an operator's input.
#pragma once

#include "compiler/ops/fixed_list.h"

namespace plimsoll {

enum class Slot {
  data,       // a tensor in the arena
  constant,   // known at compile time: axes, ratios
  bound,      // of a Clip: a constant unless it is a parameter. Then Max and Min replace the Clip
  number,     // a constant if it is a single known number, data otherwise: x · 0.5
  exponent,   // the same, but an initializer is a constant unless it may be a parameter
  weight,     // data, and by its position a weight of this layer: a scale
  bias,       // a weight that may be omitted if it is computed to be zero
  state,      // the initial state of a recurrent network: may be omitted if it is zero, as it is for any batch
  statistic,  // running mean, running variance
  // Constants that may contain the number of samples. The import removes that number.
  target,   // of a Reshape: one entry may be -1, a 0 keeps a dimension
  shape,    // of an Expand: 1 keeps a dimension, -1 is the number of samples
  counts,   // of a Tile: how often each dimension is repeated; of a ConstantOfShape: its dimensions
  sizes,    // of a Resize: -1 keeps a dimension
  ends,     // of a Slice, with the axes in the next input: the largest number is the end of a dimension
  indices,  // of a Gather: a constant if evenly spaced, data otherwise
};

// Inputs beyond the last slot have the last slot's role. Empty: all are data.
using Slots = FixedList<Slot, 8>;

constexpr bool is_weight(Slot slot) { return slot == Slot::weight || slot == Slot::bias; }
constexpr bool is_constant(Slot slot) { return slot == Slot::constant || slot == Slot::bound || slot >= Slot::target; }
// A list with a number for each dimension of the output.
constexpr bool is_shape(Slot slot) { return slot == Slot::target || slot == Slot::shape || slot == Slot::counts; }

}  // namespace plimsoll
