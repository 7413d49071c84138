// Tests and functions of numbers, by operators that have kernels.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
// Nothing but NaN differs from itself.
Result<Nodes> is_nan(Writer& w) {
  w.write("Not", {w.write("Equal", {w.input(0), w.input(0)})});
  return w.finish();
}

// Nothing but infinity is above the largest number.
Result<Nodes> is_infinite(Writer& w) {
  const bool below = w.integer("detect_negative", 1) != 0, above = w.integer("detect_positive", 1) != 0;
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (!below && !above) {
    const std::string same = w.write("Equal", {w.input(0), w.input(0)});
    w.write("And", {same, w.write("Not", {same})});
  } else if (below && above) {
    const std::string size = w.write("Abs", {w.input(0)});
    w.write("Greater", {size, w.number(kLargest)});
  } else if (above) {
    w.write("Greater", {w.input(0), w.number(kLargest)});
  } else {
    w.write("Less", {w.input(0), w.number(-kLargest)});
  }
  return w.finish();
}

// With the sign of the dividend: a - b · trunc(a / b). A division of whole numbers cuts off by itself.
Result<Nodes> remainder(Writer& w) {
  if (w.integer("fmod", 0) == 0) return Nodes{};
  const std::string quotient = w.write("Div", {w.input(0), w.input(1)});
  std::string whole = quotient;
  if (!of_whole_numbers(w)) {
    const std::string sign = w.write("Sign", {quotient});
    whole = w.write("Mul", {sign, w.write("Floor", {w.write("Abs", {quotient})})});
  }
  w.write("Sub", {w.input(0), w.write("Mul", {w.input(1), whole})});
  return w.finish();
}

// A number that is written with more axes than the tensor, such as [1] with a loss, which has none: the tensor gets
// these axes first, because a number cannot give its axes to the result.
Result<Nodes> number_of_more_axes(Writer& w) {
  for (size_t i = 0; i < 2; ++i) {
    const KnownValue* const number = w.known(i);
    const Dims* const x = w.dims(1 - i);
    if (!number || number->elements() != 1 || !x || w.known(1 - i) || number->dims.size() <= x->size()) continue;
    Ints axes(number->dims.size() - x->size());
    std::iota(axes.begin(), axes.end(), 0);
    std::vector<std::string> operands = w.node().inputs;
    operands[1 - i] = w.write("Unsqueeze", {w.input(1 - i)}, "axes", axes);
    w.write(w.node().op.c_str(), operands);
    return w.finish();
  }
  return Nodes{};
}

// The upper triangle of matrices keeps the elements whose column is at least k past their row, the lower those at most.
Result<Nodes> triangle(Writer& w) {
  const Dims& x = w.x();
  if (x.size() < 2) return w.invalid("its input is " + to_string(x) + ", not matrices");
  const Dim rows = x[x.size() - 2], columns = x.back();
  if (rows.batch || columns.batch) return w.unsupported("its rows or columns are the batch");
  if (rows.value * columns.value > kKnownLimit) return w.unsupported("a mask of " + to_string(x) + " is too large");
  const KnownValue* const known = w.known(1);
  if (!w.input(1).empty() && (!known || known->real() || known->elements() != 1 || known->depends_on_batch()))
    return w.unsupported("which diagonal is not known at compile time");
  const int64_t k = known ? known->integer(0).value : 0;
  const bool upper = w.integer("upper", 1) != 0;
  KnownValue mask{.element = ElementType::boolean, .dims = {rows, columns}};
  for (int64_t row = 0; row < rows.value; ++row)
    for (int64_t column = 0; column < columns.value; ++column)
      mask.ints.push_back({upper ? column - row >= k : column - row <= k});
  const std::string kept = w.constant(mask);
  if (w.element(0) == ElementType::boolean || w.element(0) == ElementType::undefined) {
    w.write("And", {kept, w.input(0)});
    return w.finish();
  }
  KnownValue zero{.element = w.element(0)};
  if (zero.real()) zero.reals = {0};
  else zero.ints = {{0}};
  const std::string nothing = w.constant(zero);
  w.write("Where", {kept, w.input(0), nothing});
  return w.finish();
}

}  // namespace plimsoll::spelling
