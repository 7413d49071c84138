#include "compiler/network/simplify/fold.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "compiler/network/simplify/fold_call.h"
#include "compiler/network/simplify/progression.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

using folding::axis_of;
using folding::Call;
using folding::integers;
using folding::Known;
using folding::picked;
using folding::reshaped;

Known fold_constant(const Call& call) {
  if (const auto* value = find_attribute(call.node, "value")) return known_value_of(value->tensor());
  if (const auto* value = find_attribute(call.node, "value_int"))
    return KnownValue{.element = ElementType::i64, .ints = {{value->integer()}}};
  if (const auto* value = find_attribute(call.node, "value_float"))
    return KnownValue{.element = ElementType::f32, .reals = {value->real()}};
  if (const auto* value = find_attribute(call.node, "value_ints")) {
    std::vector<Dim> items;
    for (const int64_t item : value->integers()) items.push_back({item});
    return integers(std::move(items));
  }
  if (const auto* value = find_attribute(call.node, "value_floats"))
    return KnownValue{.element = ElementType::f32, .dims = {{static_cast<int64_t>(value->reals().size())}},
                      .reals = {value->reals().begin(), value->reals().end()}};
  return std::nullopt;
}

// Any size: one element stands for all, and the shape may depend on the batch.
Known fold_constant_of_shape(const Call& call) {
  const KnownValue* shape = call.known(0);
  if (!shape || shape->real() || shape->dims.size() != 1 || shape->dims[0].batch) return std::nullopt;
  KnownValue known{.element = ElementType::f32, .reals = {0}};
  if (const auto* value = find_attribute(call.node, "value")) {
    const Known given = known_value_of(value->tensor());
    if (!given || given->elements() != 1) return std::nullopt;
    known = *given;
  }
  known.dims.clear();
  for (size_t i = 0; i < static_cast<size_t>(shape->dims[0].value); ++i) {
    if (shape->integer(i).value < 0) return std::nullopt;
    known.dims.push_back(shape->integer(i));
  }
  return known;
}

Known fold_shape(const Call& call) {
  if (!call.dims(0)) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(call.dims(0)->size());
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(call.integer("start", 0)), end = clamp(call.integer("end", rank));
  if (start >= end) return integers({});
  return integers({call.dims(0)->begin() + start, call.dims(0)->begin() + end});
}

Known fold_size(const Call& call) {
  if (!call.dims(0)) return std::nullopt;
  Dim product{1};
  for (const Dim dim : *call.dims(0)) {
    const auto value = checked_mul(product.value, dim.value);
    if (!value || (product.batch && dim.batch)) return std::nullopt;
    product = {*value, product.batch || dim.batch};
  }
  return KnownValue{.element = ElementType::i64, .ints = {product}};
}

Known fold_identity(const Call& call) {
  if (!call.known(0)) return std::nullopt;
  return *call.known(0);
}

Known fold_unsqueeze(const Call& call) {
  const auto axes = call.list("axes", 1);
  if (!call.known(0) || !axes) return std::nullopt;
  const size_t rank = call.known(0)->dims.size() + axes->size();
  std::vector<bool> fresh(rank, false);
  for (const int64_t axis : *axes) {
    const auto at = axis_of(axis, rank);
    if (!at || fresh[*at]) return std::nullopt;
    fresh[*at] = true;
  }
  Dims dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) dims.push_back(fresh[i] ? Dim{1} : call.known(0)->dims[next++]);
  return reshaped(*call.known(0), std::move(dims));
}

Known fold_squeeze(const Call& call) {
  const auto axes = call.list("axes", 1);
  if (!call.known(0) || !axes) return std::nullopt;
  const Dims& from = call.known(0)->dims;
  std::vector<bool> gone(from.size(), false);
  for (const int64_t axis : *axes) {
    const auto at = axis_of(axis, from.size());
    if (!at || from[*at] != Dim{1}) return std::nullopt;
    gone[*at] = true;
  }
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i)
    if (!(axes->empty() ? from[i] == Dim{1} : gone[i])) dims.push_back(from[i]);
  return reshaped(*call.known(0), std::move(dims));
}

Known fold_reshape(const Call& call) {
  const KnownValue *data = call.known(0), *shape = call.known(1);
  if (!data || !shape || shape->real() || !data->elements() || shape->dims.size() != 1) return std::nullopt;
  Dims dims;
  std::optional<size_t> open;
  int64_t rest = 1;
  for (size_t i = 0; i < static_cast<size_t>(shape->elements().value_or(0)); ++i) {
    Dim dim = shape->integer(i);
    if (dim.batch || dim.value < -1 || (dim.value == -1 && open)) return std::nullopt;
    if (dim.value == 0 && call.integer("allowzero", 0) == 0) {
      if (i >= data->dims.size()) return std::nullopt;
      dim = data->dims[i];
    }
    if (dim.value == -1) open = i;
    else if (const auto product = checked_mul(rest, dim.value)) rest = *product;
    else return std::nullopt;
    dims.push_back(dim);
  }
  if (open) {
    if (rest == 0 || *data->elements() % rest != 0) return std::nullopt;
    dims[*open] = {*data->elements() / rest};
  } else if (rest != *data->elements()) {
    return std::nullopt;
  }
  return reshaped(*data, std::move(dims));
}

Known fold_flatten(const Call& call) {
  const KnownValue* data = call.known(0);
  if (!data || !data->elements()) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(data->dims.size()), axis = call.integer("axis", 1), from = axis < 0 ? axis + rank : axis;
  if (from < 0 || from > rank) return std::nullopt;
  int64_t before = 1;
  for (int64_t i = 0; i < from; ++i) before *= data->dims[static_cast<size_t>(i)].value;
  if (before == 0) return std::nullopt;
  return reshaped(*data, {{before}, {*data->elements() / before}});
}

Known fold_real_range(const Call& call) {
  for (size_t i = 0; i < 3; ++i)
    if (!call.known(i) || !call.known(i)->real() || call.known(i)->elements() != 1) return std::nullopt;
  const double start = call.known(0)->number(0), limit = call.known(1)->number(0), delta = call.known(2)->number(0);
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(kKnownLimit))) return std::nullopt;  // nor where it is no number
  KnownValue known{.element = call.known(0)->element, .dims = {{count > 0 ? static_cast<int64_t>(count) : 0}}};  // it may be -inf
  for (int64_t i = 0; i < known.dims[0].value; ++i) known.reals.push_back(rounded(start + static_cast<double>(i) * delta, known.element));
  return known;
}

Known fold_range(const Call& call) {
  if (call.known(0) && call.known(0)->real()) return fold_real_range(call);
  for (size_t i = 0; i < 3; ++i)
    if (!call.known(i) || call.known(i)->real() || call.known(i)->elements() != 1 || call.known(i)->integer(0).batch)
      return std::nullopt;
  const int64_t start = call.known(0)->integer(0).value, limit = call.known(1)->integer(0).value,
                delta = call.known(2)->integer(0).value;
  constexpr int64_t kFar = int64_t{1} << 40;
  if (delta == 0 || std::abs(start) > kFar || std::abs(limit) > kFar || std::abs(delta) > kFar) return std::nullopt;
  const int64_t count = std::max<int64_t>(0, (limit - start + delta - (delta > 0 ? 1 : -1)) / delta);
  if (count > kKnownLimit) return std::nullopt;
  std::vector<Dim> items;
  for (int64_t i = 0; i < count; ++i) items.push_back({start + i * delta});
  KnownValue known = integers(std::move(items));
  known.element = call.known(0)->element;
  return known;
}

Known fold_expand(const Call& call) {
  const KnownValue *data = call.known(0), *shape = call.known(1);
  if (!data || !shape || shape->real() || shape->dims.size() != 1) return std::nullopt;
  Dims wanted;
  for (size_t i = 0; i < static_cast<size_t>(shape->elements().value_or(0)); ++i) wanted.push_back(shape->integer(i));
  if (data->elements() == 1 && wanted.size() >= data->dims.size()) {  // of any size, also of the batch's
    if (std::any_of(wanted.begin(), wanted.end(), [](Dim dim) { return dim.value < 0; })) return std::nullopt;
    return reshaped(*data, std::move(wanted));
  }
  const auto dims = broadcast({&data->dims, &wanted});
  if (!dims) return std::nullopt;
  if (data->splat()) return reshaped(*data, *dims);
  return picked(*data, *dims, broadcast_indices(data->dims, *dims));
}

// Of real numbers, as an exporter computes the angles of positions: the product of two constants.
Known fold_mat_mul(const Call& call) {
  const KnownValue *a = call.known(0), *b = call.known(1);
  if (!a || !b || !a->real() || a->element != b->element || !a->elements() || !b->elements() || a->dims.size() < 2 || b->dims.size() < 2) return std::nullopt;
  const Dims in_front_a(a->dims.begin(), a->dims.end() - 2), in_front_b(b->dims.begin(), b->dims.end() - 2);
  const size_t rows = static_cast<size_t>((a->dims.end() - 2)->value), inner = static_cast<size_t>(a->dims.back().value),
               columns = static_cast<size_t>(b->dims.back().value);
  const auto in_front = broadcast({&in_front_a, &in_front_b});
  if (!in_front || (b->dims.end() - 2)->value != a->dims.back().value) return std::nullopt;
  Dims dims = *in_front;
  int64_t work = 1;
  for (const Dim dim : {Dim{static_cast<int64_t>(rows)}, Dim{static_cast<int64_t>(columns)}}) dims.push_back(dim);
  for (const Dim dim : dims) {
    const auto more = checked_mul(work, dim.value);
    if (!more || *more > kKnownLimit) return std::nullopt;
    work = *more;
  }
  if (inner > 0 && work > (int64_t{1} << 26) / static_cast<int64_t>(inner)) return std::nullopt;
  KnownValue known{.element = a->element, .dims = dims};
  const auto at_a = broadcast_indices(in_front_a, *in_front), at_b = broadcast_indices(in_front_b, *in_front);
  for (size_t of = 0; of < at_a.size(); ++of)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (size_t k = 0; k < inner; ++k)
          sum += a->number((at_a[of] * rows + row) * inner + k) * b->number((at_b[of] * inner + k) * columns + column);
        known.reals.push_back(rounded(sum, known.element));
      }
  return known;
}

Known fold_reduce_prod(const Call& call) {
  const KnownValue* data = call.known(0);
  const auto axes = call.list("axes", 1);
  if (!data || data->real() || data->dims.size() != 1 || !data->elements() || !axes || axes->size() > 1) return std::nullopt;
  Dim product{1};
  for (size_t i = 0; i < static_cast<size_t>(*data->elements()); ++i) {
    const Dim item = data->integer(i);
    const auto value = checked_mul(product.value, item.value);
    if (!value || (product.batch && item.batch)) return std::nullopt;
    product = {*value, product.batch || item.batch};
  }
  return KnownValue{.element = data->element, .dims = call.integer("keepdims", 1) ? Dims{{1}} : Dims{}, .ints = {product}};
}

}  // namespace

namespace {

using FoldRule = Known (*)(const Call&);

const std::unordered_map<std::string_view, FoldRule>& fold_rules() {
  static const std::unordered_map<std::string_view, FoldRule> kRules = {
      {"Concat", folding::concat}, {"CumSum", folding::cumulative_sum}, {"Constant", fold_constant}, {"ConstantOfShape", fold_constant_of_shape},
      {"Expand", fold_expand}, {"Flatten", fold_flatten}, {"Gather", folding::gather}, {"GatherElements", folding::gather_elements}, {"GatherND", folding::gather_nd}, {"Identity", fold_identity}, {"Range", fold_range},
      {"MatMul", fold_mat_mul}, {"ReduceProd", fold_reduce_prod}, {"Reshape", fold_reshape}, {"ScatterND", folding::scatter_nd}, {"Shape", fold_shape}, {"Size", fold_size},
      {"Slice", folding::slice}, {"Squeeze", fold_squeeze}, {"Tile", folding::tile}, {"Transpose", folding::transpose}, {"Trilu", folding::trilu},
      {"Unsqueeze", fold_unsqueeze},
  };
  return kRules;
}

FoldRule rule_of(std::string_view op) {
  const auto found = fold_rules().find(op);
  return found == fold_rules().end() ? nullptr : found->second;
}

Known by_rule(const Call& call) {
  const FoldRule rule = rule_of(call.node.op);
  return rule ? rule(call) : fold_arithmetic(call.node, call.inputs);
}

}  // namespace

Known fold(const ModelNode& node, int64_t opset, const std::vector<FoldInput>& inputs) {
  if (Known known = fold_progression(node, inputs)) return known;
  const bool only_shapes = node.op == "Shape" || node.op == "Size";
  const bool numbered = !only_shapes && std::any_of(inputs.begin(), inputs.end(), [](const FoldInput& input) {
    return input.known && !(input.known->steps.empty() && input.known->probes.empty());
  });
  const Call call{node, opset, inputs};
  if (Known known = numbered ? std::nullopt : by_rule(call)) return known;
  return folding::alike(call, by_rule);
}

bool can_fold(std::string_view op) { return rule_of(op) || can_fold_arithmetic(op); }

std::vector<std::string_view> folded_operators() {
  std::vector<std::string_view> names = names_of_fold_arithmetic();
  for (const auto& [name, rule] : fold_rules()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plimsoll
