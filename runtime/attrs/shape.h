// Attributes of the kernels that move elements without computing.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// Concat, Split: the pieces lie one after another along `axis` of the whole, starting at `first`.
struct PiecesAttrs {
  int64_t axis = 0;
  int64_t first = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("axis", axis);
    v("first", first);
  }
};

// Element i of an axis is element starts + i · steps of the larger tensor; one entry per axis.
struct SliceAttrs {
  IntList starts = {};
  IntList steps = {};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("starts", starts);
    v("steps", steps);
  }
};

// The row of an embedding table that gets no gradient, because it pads sequences.
struct PaddedGatherAttrs {
  int64_t row = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("row", row);
  }
};

// Axis i of the result is axis perm[i] of the operand.
struct TransposeAttrs {
  IntList perm = {};

  template <class Visitor>
  void visit(Visitor&& v) { v("perm", perm); }
};

}  // namespace plimsoll
