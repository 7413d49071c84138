// Attributes of the integer and boolean kernels. A boolean is a u8: kernels write 0 or 1, and treat every nonzero value
// that they read as true.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

struct CastAttrs {
  bool truth = false;  // to a boolean: 1 where x is not 0

  template <class Visitor>
  void visit(Visitor&& v) { v("truth", truth); }
};

// The operations of Compare and WholeArithmetic. Attributes are numbers, so these are named numbers.
inline constexpr int64_t kEqual = 0, kLess = 1, kLessOrEqual = 2;
inline constexpr int64_t kAdd = 0, kSub = 1, kMul = 2, kDiv = 3, kMod = 4, kMax = 5, kMin = 6, kAnd = 7, kOr = 8,
                         kXor = 9;

// An absent operand is a number: `real` if the other is f32 (attributes are finite; a value beyond the range of float
// means infinity), else `whole`.
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

// Absent operands are these numbers, as above.
struct SelectAttrs {
  double first = 0, second = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("first", first);
    v("second", second);
  }
};

// Axis i of the result steps along axis order[i] of the operand by steps[i]; -1: along no axis, so the same element is
// repeated. Axis j of the operand starts at starts[j].
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
