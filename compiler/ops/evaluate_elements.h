// Elementwise evaluation (evaluate.h). Integers may be multiples of the number of samples.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ops/evaluate.h"

namespace plimsoll {

using MaybeDim = std::optional<Dim>;

// Arithmetic on a + b·N where a or b is zero; a result that is not of this form is unknown. N is positive and unknown.
namespace symbolic {
MaybeDim add(Dim a, Dim b, int64_t sign);
MaybeDim multiply(Dim a, Dim b);
MaybeDim divide(Dim a, Dim b);
MaybeDim remainder(Dim a, Dim b);
MaybeDim compare(Dim a, Dim b, bool (*holds)(int64_t, int64_t));
MaybeDim largest(Dim a, Dim b);
MaybeDim smallest(Dim a, Dim b);
}  // namespace symbolic

// nullptr: not evaluated for numbers of this kind.
struct OfTwo {
  MaybeDim (*ints)(Dim, Dim) = nullptr;
  double (*reals)(double, double) = nullptr;
  bool boolean = false;  // the result is a boolean, also for reals
};
struct OfOne {
  MaybeDim (*ints)(Dim) = nullptr;
  double (*reals)(double) = nullptr;
};

Known evaluate_binary(const std::vector<KnownInput>& inputs, const OfTwo& op);      // with broadcasting
Known evaluate_two_by_two(const std::vector<KnownInput>& inputs, const OfTwo& op);  // of any number of inputs
template <class Holds>  // std::less<>
Known evaluate_relation(const std::vector<KnownInput>& inputs) {
  return evaluate_binary(
      inputs,
      {.ints = [](Dim a, Dim b) { return symbolic::compare(a, b, [](int64_t x, int64_t y) { return Holds{}(x, y); }); },
       .reals = [](double a, double b) { return Holds{}(a, b) ? 1.0 : 0.0; },
       .boolean = true});
}
Known evaluate_unary(const std::vector<KnownInput>& inputs, const OfOne& op);

Known cast_to(const KnownValue& from, ElementType element);

}  // namespace plimsoll
