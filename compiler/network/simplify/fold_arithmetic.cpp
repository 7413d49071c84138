#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "compiler/network/simplify/fold.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

using Known = std::optional<KnownValue>;
using MaybeDim = std::optional<Dim>;

// Arithmetic on a + b·N where one of both is zero; what does not stay so is not known. N is positive and unknown.
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
  return Dim{a.value / b.value, a.batch};  // toward zero, as the specification's integer division
}

MaybeDim remainder(Dim a, Dim b) {
  if (b.value == 0 || b.value == -1 || a.batch || b.batch) return std::nullopt;
  const int64_t rest = a.value % b.value;
  return Dim{rest != 0 && (rest < 0) != (b.value < 0) ? rest + b.value : rest};
}

// Both of the same kind compare as their factors do.
MaybeDim compare(Dim a, Dim b, bool (*holds)(int64_t, int64_t)) {
  if (a == b) return Dim{holds(a.value, b.value)};
  // A number that is no positive one never equals, and is always below, a positive multiple of the batch.
  if (a.batch && !b.batch && a.value > 0 && b.value <= 0) return Dim{holds(1, 0)};
  if (b.batch && !a.batch && b.value > 0 && a.value <= 0) return Dim{holds(0, 1)};
  if (a.batch != b.batch) return std::nullopt;
  return Dim{holds(a.value, b.value)};
}

// N is at least 1, and which of both is larger must not depend on it.
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

bool equal(int64_t a, int64_t b) { return a == b; }
bool less(int64_t a, int64_t b) { return a < b; }
bool less_or_equal(int64_t a, int64_t b) { return a <= b; }
bool greater(int64_t a, int64_t b) { return a > b; }
bool greater_or_equal(int64_t a, int64_t b) { return a >= b; }

struct Binary {
  MaybeDim (*ints)(Dim, Dim);
  double (*reals)(double, double);
  bool boolean = false;  // the result is a truth value, also of reals
};

const std::unordered_map<std::string_view, Binary>& binaries() {
  static const std::unordered_map<std::string_view, Binary> table = {
      {"Add", {[](Dim a, Dim b) { return add(a, b, 1); }, [](double a, double b) { return a + b; }}},
      {"Sub", {[](Dim a, Dim b) { return add(a, b, -1); }, [](double a, double b) { return a - b; }}},
      {"Mul", {multiply, [](double a, double b) { return a * b; }}},
      {"Div", {divide, [](double a, double b) { return a / b; }}},
      {"Max", {largest, [](double a, double b) { return std::isnan(a) || a > b ? a : b; }}},
      {"Min", {smallest, [](double a, double b) { return std::isnan(a) || a < b ? a : b; }}},
      {"Mod", {remainder, nullptr}},
      {"Pow", {nullptr, [](double a, double b) { return std::pow(a, b); }}},
      {"Equal", {[](Dim a, Dim b) { return compare(a, b, equal); }, [](double a, double b) { return double(a == b); }, true}},
      {"Less", {[](Dim a, Dim b) { return compare(a, b, less); }, [](double a, double b) { return double(a < b); }, true}},
      {"LessOrEqual", {[](Dim a, Dim b) { return compare(a, b, less_or_equal); }, [](double a, double b) { return double(a <= b); }, true}},
      {"Greater", {[](Dim a, Dim b) { return compare(a, b, greater); }, [](double a, double b) { return double(a > b); }, true}},
      {"GreaterOrEqual", {[](Dim a, Dim b) { return compare(a, b, greater_or_equal); }, [](double a, double b) { return double(a >= b); }, true}},
      {"And", {[](Dim a, Dim b) { return MaybeDim(Dim{a.value && b.value}); }, nullptr, true}},
      {"Or", {[](Dim a, Dim b) { return MaybeDim(Dim{a.value || b.value}); }, nullptr, true}},
      {"Xor", {[](Dim a, Dim b) { return MaybeDim(Dim{(a.value != 0) != (b.value != 0)}); }, nullptr, true}},
  };
  return table;
}

struct Unary {
  MaybeDim (*ints)(Dim);
  double (*reals)(double);
};

const std::unordered_map<std::string_view, Unary>& unaries() {
  static const std::unordered_map<std::string_view, Unary> table = {
      {"Neg", {[](Dim a) { return add({0}, a, -1); }, [](double a) { return -a; }}},
      {"Not", {[](Dim a) { return MaybeDim(Dim{!a.value}); }, nullptr}},
      {"Sqrt", {nullptr, [](double a) { return std::sqrt(a); }}},
      {"Exp", {nullptr, [](double a) { return std::exp(a); }}},
      {"Log", {nullptr, [](double a) { return std::log(a); }}},
      {"Sin", {nullptr, [](double a) { return std::sin(a); }}},
      {"Cos", {nullptr, [](double a) { return std::cos(a); }}},
      {"Floor", {nullptr, [](double a) { return std::floor(a); }}},
      {"Ceil", {nullptr, [](double a) { return std::ceil(a); }}},
      {"Reciprocal", {nullptr, [](double a) { return 1 / a; }}},
      {"Sign", {[](Dim a) { return MaybeDim(Dim{(a.value > 0) - (a.value < 0)}); }, [](double a) { return static_cast<double>((a > 0) - (a < 0)); }}},
      {"Abs", {[](Dim a) { return a.value < 0 ? add({0}, a, -1) : MaybeDim(a); }, [](double a) { return std::abs(a); }}},
  };
  return table;
}

Known fold_binary(const Binary& op, const std::vector<FoldInput>& inputs) {
  if (inputs.size() != 2 || !inputs[0].known || !inputs[1].known) return std::nullopt;
  const KnownValue &a = *inputs[0].known, &b = *inputs[1].known;
  const bool real = a.real();
  if (real != b.real() || (real ? op.reals == nullptr : op.ints == nullptr)) return std::nullopt;
  const auto dims = broadcast({&a.dims, &b.dims});
  if (!dims) return std::nullopt;
  KnownValue known{.element = op.boolean ? ElementType::boolean : a.element, .dims = *dims};
  const auto at_a = broadcast_indices(a.dims, *dims), at_b = broadcast_indices(b.dims, *dims);
  for (size_t i = 0; i < at_a.size(); ++i) {
    if (real) {
      const double result = op.reals(a.number(at_a[i]), b.number(at_b[i]));
      if (op.boolean) known.ints.push_back({result != 0});
      else known.reals.push_back(rounded(result, known.element));
    } else {
      const MaybeDim result = op.ints(a.integer(at_a[i]), b.integer(at_b[i]));
      if (!result) return std::nullopt;
      known.ints.push_back(*result);
    }
  }
  return known;
}

// Of any number of inputs, two by two.
Known fold_extreme(const Binary& op, const std::vector<FoldInput>& inputs) {
  if (inputs.empty() || !inputs[0].known) return std::nullopt;
  Known so_far = *inputs[0].known;
  for (size_t i = 1; i < inputs.size() && so_far; ++i) so_far = fold_binary(op, {{&*so_far, nullptr, {}}, inputs[i]});
  return so_far;
}

Known fold_unary(const Unary& op, const std::vector<FoldInput>& inputs) {
  if (inputs.size() != 1 || !inputs[0].known) return std::nullopt;
  KnownValue known = *inputs[0].known;
  if (known.real() ? op.reals == nullptr : op.ints == nullptr) return std::nullopt;
  for (double& item : known.reals) item = rounded(op.reals(item), known.element);
  for (Dim& item : known.ints) {
    const MaybeDim result = op.ints(item);
    if (!result) return std::nullopt;
    item = *result;
  }
  return known;
}

// Of opset 11 and later, where the bounds are inputs. The upper bound holds where they cross, as ONNX says.
Known fold_clip(const ModelNode& node, const std::vector<FoldInput>& inputs) {
  if (inputs.empty() || !inputs[0].known || !node.attributes.empty()) return std::nullopt;
  Known clipped = *inputs[0].known;
  for (size_t i = 1; i < inputs.size() && clipped; ++i) {
    if (node.inputs[i].empty()) continue;
    clipped = fold_binary(binaries().at(i == 1 ? "Max" : "Min"), {{&*clipped, nullptr, {}}, inputs[i]});
  }
  return clipped;
}

Known cast_to(const KnownValue& from, ElementType element) {
  const bool integral = data_type_of(element).has_value() && element != ElementType::f32;
  if (!integral && !is_real(element)) return std::nullopt;
  KnownValue known{.element = element, .dims = from.dims};
  if (from.real() && is_real(element)) {
    for (const double item : from.reals) known.reals.push_back(rounded(item, element));
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
      known.reals.push_back(rounded(static_cast<double>(item.value), element));
    }
  }
  return known;
}

Known fold_where(const std::vector<FoldInput>& inputs) {
  if (inputs.size() != 3 || !inputs[0].known || !inputs[1].known || !inputs[2].known) return std::nullopt;
  const KnownValue &condition = *inputs[0].known, &a = *inputs[1].known, &b = *inputs[2].known;
  if (condition.real() || a.element != b.element) return std::nullopt;
  const auto dims = broadcast({&condition.dims, &a.dims, &b.dims});
  if (!dims) return std::nullopt;
  const auto at = broadcast_indices(condition.dims, *dims), at_a = broadcast_indices(a.dims, *dims),
             at_b = broadcast_indices(b.dims, *dims);
  KnownValue known{.element = a.element, .dims = *dims};
  for (size_t i = 0; i < at.size(); ++i) {
    const bool first = condition.integer(at[i]).value != 0;
    if (known.real()) known.reals.push_back(first ? a.number(at_a[i]) : b.number(at_b[i]));
    else known.ints.push_back(first ? a.integer(at_a[i]) : b.integer(at_b[i]));
  }
  return known;
}

}  // namespace

double rounded(double value, ElementType element) {
  return element == ElementType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

std::optional<Dims> broadcast(const std::vector<const Dims*>& shapes) {
  size_t rank = 0;
  for (const Dims* shape : shapes) rank = std::max(rank, shape->size());
  Dims dims(rank, Dim{1});
  for (const Dims* shape : shapes)
    for (size_t i = 0; i < shape->size(); ++i) {
      const Dim dim = (*shape)[i];
      Dim& common = dims[rank - shape->size() + i];
      if (dim.batch || dim.value < 0) return std::nullopt;
      if (dim.value == 1 || dim == common) continue;
      if (common.value != 1) return std::nullopt;
      common = dim;
    }
  int64_t count = 1;
  for (const Dim dim : dims) {
    const auto product = checked_mul(count, dim.value);
    if (!product || *product > kKnownLimit) return std::nullopt;
    count = *product;
  }
  return dims;
}

std::vector<size_t> broadcast_indices(const Dims& from, const Dims& to) {
  size_t count = 1;
  for (const Dim dim : to) count *= static_cast<size_t>(dim.value);
  std::vector<size_t> strides(to.size(), 0);
  size_t stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i].value != 1) strides[to.size() - from.size() + i] = stride;
    stride *= static_cast<size_t>(from[i].value);
  }
  std::vector<size_t> indices(count);
  for (size_t flat = 0; flat < count; ++flat) {
    size_t rest = flat;
    for (size_t i = to.size(); i-- > 0;) {
      indices[flat] += rest % static_cast<size_t>(to[i].value) * strides[i];
      rest /= static_cast<size_t>(to[i].value);
    }
  }
  return indices;
}

Known fold_arithmetic(const ModelNode& node, const std::vector<FoldInput>& inputs) {
  const std::string_view op = node.op;
  if (op == "Max" || op == "Min") return fold_extreme(binaries().at(op), inputs);
  if (const auto found = binaries().find(op); found != binaries().end()) return fold_binary(found->second, inputs);
  if (const auto found = unaries().find(op); found != unaries().end()) return fold_unary(found->second, inputs);
  if (op == "Where") return fold_where(inputs);
  if (op == "Clip") return fold_clip(node, inputs);
  if (op == "Cast" && inputs.size() == 1 && inputs[0].known) {
    const ModelAttribute* to = find_attribute(node, "to");
    return to ? cast_to(*inputs[0].known, to->element()) : std::nullopt;
  }
  if (op == "CastLike" && inputs.size() == 2 && inputs[0].known && inputs[1].element != ElementType::undefined)
    return cast_to(*inputs[0].known, inputs[1].element);
  return std::nullopt;
}

bool can_fold_arithmetic(std::string_view op) {
  return binaries().contains(op) || unaries().contains(op) || op == "Where" || op == "Clip" || op == "Cast" || op == "CastLike";
}

std::vector<std::string_view> names_of_fold_arithmetic() {
  std::vector<std::string_view> names = {"Where", "Clip", "Cast", "CastLike"};
  for (const auto& [name, rule] : binaries()) names.push_back(name);
  for (const auto& [name, rule] : unaries()) names.push_back(name);
  return names;
}

}  // namespace plimsoll
