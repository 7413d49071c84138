#include "compiler/ops/evaluate_elements.h"

#include <cmath>
#include <cstdint>

namespace plimsoll {
namespace symbolic {

MaybeDim add(Dim a, Dim b, int64_t sign) {
  if (__builtin_mul_overflow(b.value, sign, &b.value)) return std::nullopt;
  if (a.value == 0) return b;
  if (b.value == 0) return a;
  int64_t sum = 0;
  if (a.batch != b.batch || __builtin_add_overflow(a.value, b.value, &sum)) return std::nullopt;
  return Dim{sum, a.batch && sum != 0};
}

MaybeDim multiply(Dim a, Dim b) {
  int64_t product = 0;
  if ((a.batch && b.batch) || __builtin_mul_overflow(a.value, b.value, &product)) return std::nullopt;
  return Dim{product, (a.batch || b.batch) && product != 0};
}

MaybeDim divide(Dim a, Dim b) {
  if (b.value == 0 || (b.value == -1 && a.value == INT64_MIN)) return std::nullopt;
  if (a.batch && b.batch) return a.value % b.value == 0 ? MaybeDim(Dim{a.value / b.value}) : std::nullopt;
  if (b.batch) return a.value == 0 ? MaybeDim(Dim{0}) : std::nullopt;
  if (a.batch && a.value % b.value != 0) return std::nullopt;
  return Dim{a.value / b.value, a.batch};  // toward zero, as the ONNX specification requires for integer division
}

MaybeDim remainder(Dim a, Dim b) {
  if (b.value == 0 || b.value == -1 || a.batch || b.batch) return std::nullopt;
  const int64_t rest = a.value % b.value;
  return Dim{rest != 0 && (rest < 0) != (b.value < 0) ? rest + b.value : rest};
}

// Two values of the same kind compare as their factors do.
MaybeDim compare(Dim a, Dim b, bool (*holds)(int64_t, int64_t)) {
  if (a == b) return Dim{holds(a.value, b.value)};
  // A number <= 0 never equals a positive multiple of the batch, and is always below it.
  if (a.batch && !b.batch && a.value > 0 && b.value <= 0) return Dim{holds(1, 0)};
  if (b.batch && !a.batch && b.value > 0 && a.value <= 0) return Dim{holds(0, 1)};
  if (a.batch != b.batch) return std::nullopt;
  return Dim{holds(a.value, b.value)};
}

// N is at least 1; the result must not depend on its value.
MaybeDim largest(Dim a, Dim b) {
  if (a.batch == b.batch) return a.value > b.value ? a : b;
  const Dim many = a.batch ? a : b, few = a.batch ? b : a;
  if (many.value > 0 && few.value <= many.value) return many;
  return many.value <= 0 && few.value >= 0 ? MaybeDim(few) : std::nullopt;
}

MaybeDim smallest(Dim a, Dim b) {
  if (a.batch == b.batch) return a.value < b.value ? a : b;
  const Dim many = a.batch ? a : b, few = a.batch ? b : a;
  if (many.value > 0 && few.value <= many.value) return few;
  return many.value <= 0 && few.value >= 0 ? MaybeDim(many) : std::nullopt;
}

}  // namespace symbolic

Known evaluate_binary(const std::vector<KnownInput>& inputs, const OfTwo& op) {
  if (inputs.size() != 2 || !inputs[0].known || !inputs[1].known) return std::nullopt;
  const KnownValue &a = *inputs[0].known, &b = *inputs[1].known;
  const bool real = a.real();
  if (real != b.real() || (real ? op.reals == nullptr : op.ints == nullptr)) return std::nullopt;
  const auto dims = constants::broadcast({&a.dims, &b.dims});
  if (!dims) return std::nullopt;
  KnownValue known{.element = op.boolean ? ElementType::boolean : a.element, .dims = *dims};
  const auto at_a = constants::broadcast_indices(a.dims, *dims), at_b = constants::broadcast_indices(b.dims, *dims);
  for (size_t i = 0; i < at_a.size(); ++i) {
    if (real) {
      const double result = op.reals(a.number(at_a[i]), b.number(at_b[i]));
      if (op.boolean) known.ints.push_back({result != 0});
      else known.reals.push_back(constants::rounded(result, known.element));
    } else {
      const MaybeDim result = op.ints(a.integer(at_a[i]), b.integer(at_b[i]));
      if (!result) return std::nullopt;
      known.ints.push_back(*result);
    }
  }
  return known;
}

// For any number of inputs, combined pairwise.
Known evaluate_two_by_two(const std::vector<KnownInput>& inputs, const OfTwo& op) {
  if (inputs.empty() || !inputs[0].known) return std::nullopt;
  Known so_far = *inputs[0].known;
  for (size_t i = 1; i < inputs.size() && so_far; ++i)
    so_far = evaluate_binary({{&*so_far, nullptr, {}}, inputs[i]}, op);
  return so_far;
}

Known evaluate_unary(const std::vector<KnownInput>& inputs, const OfOne& op) {
  if (inputs.size() != 1 || !inputs[0].known) return std::nullopt;
  KnownValue known = *inputs[0].known;
  if (known.real() ? op.reals == nullptr : op.ints == nullptr) return std::nullopt;
  for (double& item : known.reals) item = constants::rounded(op.reals(item), known.element);
  for (Dim& item : known.ints) {
    const MaybeDim result = op.ints(item);
    if (!result) return std::nullopt;
    item = *result;
  }
  return known;
}

Known cast_to(const KnownValue& from, ElementType element) {
  const bool integral = data_type_of(element).has_value() && element != ElementType::f32;
  if (!integral && !is_real(element)) return std::nullopt;
  KnownValue known{.element = element, .dims = from.dims};
  if (from.real() && is_real(element)) {
    for (const double item : from.reals) known.reals.push_back(constants::rounded(item, element));
  } else if (from.real()) {
    for (const double item : from.reals) {
      if (!(std::abs(item) < 9e18)) return std::nullopt;
      known.ints.push_back({element == ElementType::boolean ? item != 0 : static_cast<int64_t>(item)});
    }
  } else if (integral) {
    known.ints = from.ints;
    for (Dim& item : known.ints)
      if (element == ElementType::boolean) item = {item.value != 0};
      else if (element == ElementType::u8 && (item.batch || item.value < 0 || item.value > 255)) return std::nullopt;
      else if (element == ElementType::i32 && item.value != static_cast<int32_t>(item.value)) return std::nullopt;
  } else {
    for (const Dim item : from.ints) {
      if (item.batch) return std::nullopt;
      known.reals.push_back(constants::rounded(static_cast<double>(item.value), element));
    }
  }
  return known;
}

}  // namespace plimsoll
