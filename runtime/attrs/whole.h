// Attributes of the kernels on whole numbers and booleans. A boolean is a u8: 0 or 1 where a kernel made it, and set wherever it is
// not 0 to a kernel that reads it.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

struct CastAttrs {
  bool truth = false;  // to a boolean: 1 where x is not 0

  template <class Visitor>
  void visit(Visitor&& v) { v("truth", truth); }
};

// What Compare and WholeArithmetic do. Attributes are numbers, so these are numbers with names.
inline constexpr int64_t kEqual = 0, kLess = 1, kLessOrEqual = 2;
inline constexpr int64_t kAdd = 0, kSub = 1, kMul = 2, kDiv = 3, kMod = 4, kMax = 5, kMin = 6, kAnd = 7, kOr = 8, kXor = 9;

// An operand that is absent is a number: `real` beside f32 (attributes are finite: what no float holds is infinity), else `whole`.
struct PairAttrs {
  int64_t operation = 0;
  int64_t whole = 0;
  double real = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("operation", operation);
    v("whole", whole);
    v("real", real);
  }
};

// Operands that are absent are these numbers, as above.
struct SelectAttrs {
  double first = 0, second = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("first", first);
    v("second", second);
  }
};

// Axis i of the result walks along axis order[i] of the operand, steps[i] at once; -1: along none, the same element all the way.
// Axis j of the operand is entered at starts[j].
struct MoveAttrs {
  IntList order = {};
  IntList steps = {};
  IntList starts = {};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("order", order);
    v("steps", steps);
    v("starts", starts);
  }
};

}  // namespace plimsoll
