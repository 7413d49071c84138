// Attributes of the kernels that move elements and compute nothing.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// Concat, Split: the pieces lie one after the other along `axis` of the whole, the first at `first`.
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

// The row of a table of embeddings that gets no gradient: what sequences are filled up with.
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
