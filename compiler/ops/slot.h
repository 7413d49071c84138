// What an input of an operator is.
#pragma once

#include "compiler/ops/fixed_list.h"

namespace plimsoll {

enum class Slot {
  data,       // lies in the arena
  constant,   // known while compiling: axes, ratios
  bound,      // of a Clip: a constant, unless it is a parameter. Then Max and Min take the place of the Clip
  number,     // a constant where it is a single known number, data otherwise: x · 0.5
  exponent,   // the same, but an initializer that nothing marks as a parameter is a constant
  weight,     // data, and by its place a weight of this one layer: a scale
  bias,       // a weight that may be left out where it is computed to be zero
  state,      // of a recurrent network before the first step: may be left out where it is zero, as it is for any batch
  statistic,  // running mean, running variance
  // Constants in which the number of samples may be written. The import says them without that number.
  target,   // of a Reshape: one entry may be -1, a 0 keeps a dimension
  shape,    // of an Expand: 1 keeps a dimension, -1 is the number of samples
  sizes,    // of a Resize: -1 keeps a dimension
  ends,     // of a Slice, with the axes in the next input: the largest number is the end of a dimension
  indices,  // of a Gather: a constant in even steps, else data
};

// Inputs beyond the last are like the last. Empty: all are data.
using Slots = FixedList<Slot, 8>;

constexpr bool is_weight(Slot slot) { return slot == Slot::weight || slot == Slot::bias; }
constexpr bool is_constant(Slot slot) { return slot == Slot::constant || slot == Slot::bound || slot >= Slot::target; }

}  // namespace plimsoll
