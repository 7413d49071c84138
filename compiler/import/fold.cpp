#include "compiler/import/fold.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "compiler/import/onnx.h"
#include "compiler/import/progression.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

using onnx::TensorProto;
using Known = std::optional<KnownValue>;

struct Call {
  const onnx::NodeProto& node;
  int64_t opset;
  const std::vector<FoldInput>& inputs;

  const KnownValue* known(size_t i) const { return i < inputs.size() ? inputs[i].known : nullptr; }
  const Dims* dims(size_t i) const {
    if (known(i)) return &known(i)->dims;
    return i < inputs.size() ? inputs[i].dims : nullptr;
  }
  bool given(size_t i) const { return i < static_cast<size_t>(node.input_size()) && !node.input(static_cast<int>(i)).empty(); }
  int64_t integer(std::string_view name, int64_t missing) const {
    const onnx::AttributeProto* found = find_attribute(node, name);
    return found ? found->i() : missing;
  }
  // An attribute of old opsets that became an input: axes, starts. nullopt: given but not known; empty: left out.
  std::optional<std::vector<int64_t>> list(std::string_view name, size_t input) const {
    if (const onnx::AttributeProto* found = find_attribute(node, name))
      return std::vector<int64_t>(found->ints().begin(), found->ints().end());
    if (!given(input)) return std::vector<int64_t>{};
    if (!known(input) || known(input)->real()) return std::nullopt;
    std::vector<int64_t> items;
    for (size_t i = 0; i < static_cast<size_t>(known(input)->elements().value_or(0)); ++i) {
      if (known(input)->integer(i).batch) return std::nullopt;
      items.push_back(known(input)->integer(i).value);
    }
    return items;
  }
};

KnownValue integers(std::vector<Dim> items) {
  KnownValue known{.element = TensorProto::INT64, .dims = {{static_cast<int64_t>(items.size())}}};
  known.ints = std::move(items);
  return known;
}

// The same elements under another shape.
KnownValue reshaped(const KnownValue& from, Dims dims) {
  KnownValue known = from;
  known.dims = std::move(dims);
  return known;
}

// Elements of `from` in the order of `indices`.
KnownValue picked(const KnownValue& from, Dims dims, const std::vector<size_t>& indices) {
  KnownValue known{.element = from.element, .dims = std::move(dims)};
  if (from.real())
    for (const size_t i : indices) known.reals.push_back(from.number(i));
  else
    for (const size_t i : indices) known.ints.push_back(from.integer(i));
  return known;
}

std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

// Elements before, at and after an axis. Of shapes without the batch.
struct Extents { size_t outer = 1, at = 1, inner = 1; };

Extents extents(const Dims& dims, size_t axis) {
  Extents e;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? e.outer : i == axis ? e.at : e.inner) *= static_cast<size_t>(dims[i].value);
  return e;
}

Known fold_constant(const Call& call) {
  if (const auto* value = find_attribute(call.node, "value")) return known_value_of(value->t());
  if (const auto* value = find_attribute(call.node, "value_int"))
    return KnownValue{.element = TensorProto::INT64, .ints = {{value->i()}}};
  if (const auto* value = find_attribute(call.node, "value_float"))
    return KnownValue{.element = TensorProto::FLOAT, .reals = {value->f()}};
  if (const auto* value = find_attribute(call.node, "value_ints")) {
    std::vector<Dim> items;
    for (const int64_t item : value->ints()) items.push_back({item});
    return integers(std::move(items));
  }
  if (const auto* value = find_attribute(call.node, "value_floats"))
    return KnownValue{.element = TensorProto::FLOAT, .dims = {{value->floats_size()}},
                      .reals = {value->floats().begin(), value->floats().end()}};
  return std::nullopt;
}

// Any size: one element stands for all, and the shape may depend on the batch.
Known fold_constant_of_shape(const Call& call) {
  const KnownValue* shape = call.known(0);
  if (!shape || shape->real() || shape->dims.size() != 1 || shape->dims[0].batch) return std::nullopt;
  KnownValue known{.element = TensorProto::FLOAT, .reals = {0}};
  if (const auto* value = find_attribute(call.node, "value")) {
    const Known given = known_value_of(value->t());
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
  return KnownValue{.element = TensorProto::INT64, .ints = {product}};
}

Known fold_identity(const Call& call) {
  if (!call.known(0)) return std::nullopt;
  return *call.known(0);
}

Known fold_gather(const Call& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1);
  if (!data || !indices || indices->real() || !data->elements() || !indices->elements()) return std::nullopt;
  const auto axis = axis_of(call.integer("axis", 0), data->dims.size());
  if (!axis) return std::nullopt;
  const Extents e = extents(data->dims, *axis);
  const auto count = checked_mul(*indices->elements(), static_cast<int64_t>(e.outer * e.inner));
  if (!count || *count > kKnownLimit) return std::nullopt;
  Dims dims(data->dims.begin(), data->dims.begin() + static_cast<int64_t>(*axis));
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), data->dims.begin() + static_cast<int64_t>(*axis) + 1, data->dims.end());
  std::vector<size_t> chosen;
  for (size_t outer = 0; outer < e.outer; ++outer)
    for (size_t i = 0; i < static_cast<size_t>(*indices->elements()); ++i) {
      const Dim index = indices->integer(i);
      const auto at = index.batch ? std::nullopt : axis_of(index.value, e.at);
      if (!at) return std::nullopt;
      for (size_t inner = 0; inner < e.inner; ++inner) chosen.push_back((outer * e.at + *at) * e.inner + inner);
    }
  return picked(*data, std::move(dims), chosen);
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

Known fold_concat(const Call& call) {
  if (call.inputs.empty() || !call.known(0)) return std::nullopt;
  const auto axis = axis_of(call.integer("axis", 0), call.known(0)->dims.size());
  if (!axis) return std::nullopt;
  Dims dims = call.known(0)->dims;
  dims[*axis] = {0};
  int64_t total = 0;
  for (const FoldInput& input : call.inputs) {
    if (!input.known || !input.known->elements() || input.known->dims.size() != dims.size() ||
        input.known->element != call.known(0)->element)
      return std::nullopt;
    total += *input.known->elements();
    if (total > kKnownLimit) return std::nullopt;
    for (size_t i = 0; i < dims.size(); ++i)
      if (i == *axis) dims[i].value += input.known->dims[i].value;
      else if (dims[i] != input.known->dims[i]) return std::nullopt;
  }
  KnownValue known{.element = call.known(0)->element, .dims = dims};
  for (size_t outer = 0; outer < extents(dims, *axis).outer; ++outer)
    for (const FoldInput& input : call.inputs) {
      const Extents e = extents(input.known->dims, *axis);
      for (size_t i = outer * e.at * e.inner; i < (outer + 1) * e.at * e.inner; ++i)
        if (known.real()) known.reals.push_back(input.known->number(i));
        else known.ints.push_back(input.known->integer(i));
    }
  return known;
}

Known fold_slice(const Call& call) {
  const KnownValue* data = call.known(0);
  const auto starts = call.list("starts", 1), ends = call.list("ends", 2);
  auto axes = call.list("axes", 3), steps = call.list("steps", 4);
  if (!data || !data->elements() || *data->elements() > kKnownLimit || !starts || !ends || !axes || !steps ||
      starts->size() != ends->size())
    return std::nullopt;
  if (axes->empty())
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  if (steps->empty()) steps->assign(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  KnownValue result = *data;
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis = axis_of((*axes)[i], result.dims.size());
    if (!axis || (*steps)[i] == 0) return std::nullopt;
    const int64_t step = (*steps)[i], size = result.dims[*axis].value;
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const auto clamp = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
    const int64_t start = clamp((*starts)[i]), end = clamp((*ends)[i]);
    const Extents e = extents(result.dims, *axis);
    std::vector<int64_t> kept;
    for (int64_t at = start; step > 0 ? at < end : at > end;) {
      kept.push_back(at);
      if (step > size || step < -size) break;
      at += step;
    }
    std::vector<size_t> chosen;
    for (size_t outer = 0; outer < e.outer; ++outer)
      for (const int64_t at : kept)
        for (size_t inner = 0; inner < e.inner; ++inner)
          chosen.push_back((outer * e.at + static_cast<size_t>(at)) * e.inner + inner);
    Dims dims = result.dims;
    dims[*axis] = {static_cast<int64_t>(kept.size())};
    result = picked(result, std::move(dims), chosen);
  }
  return result;
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

Known fold_range(const Call& call) {
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

Known fold_transpose(const Call& call) {
  const KnownValue* data = call.known(0);
  if (!data || !data->elements() || *data->elements() > kKnownLimit) return std::nullopt;
  const size_t rank = data->dims.size();
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  if (const auto* perm = find_attribute(call.node, "perm")) {
    std::vector<bool> seen(rank, false);
    if (perm->ints_size() != static_cast<int>(rank)) return std::nullopt;
    for (size_t i = 0; i < rank; ++i) {
      const auto axis = axis_of(perm->ints(static_cast<int>(i)), rank);
      if (!axis || seen[*axis]) return std::nullopt;
      seen[order[i] = *axis] = true;
    }
  }
  Dims dims;
  for (const size_t axis : order) dims.push_back(data->dims[axis]);
  std::vector<size_t> chosen(static_cast<size_t>(*data->elements()));
  for (size_t flat = 0; flat < chosen.size(); ++flat) {
    size_t rest = flat, from = 0;
    for (size_t i = rank; i-- > 0;) {
      const size_t index = rest % static_cast<size_t>(dims[i].value);
      rest /= static_cast<size_t>(dims[i].value);
      from += index * extents(data->dims, order[i]).inner;
    }
    chosen[flat] = from;
  }
  return picked(*data, std::move(dims), chosen);
}

Known fold_trilu(const Call& call) {
  const KnownValue* data = call.known(0);
  const auto diagonal = call.list("", 1);
  if (!data || !data->elements() || *data->elements() > kKnownLimit || data->dims.size() < 2 || !diagonal) return std::nullopt;
  const int64_t k = diagonal->empty() ? 0 : (*diagonal)[0], columns = data->dims.back().value,
                rows = data->dims[data->dims.size() - 2].value;
  const bool upper = call.integer("upper", 1) != 0;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = picked(*data, data->dims, all);
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
    if (upper ? column - row >= k : column - row <= k) continue;
    if (known.real()) known.reals[i] = 0;
    else known.ints[i] = {0};
  }
  return known;
}

// Where an index (the last dimension of `indices`) begins in the data, and how many elements stand there.
struct Places {
  std::vector<size_t> at = {};
  size_t length = 1;
};

std::optional<Places> places_of(const KnownValue& data, const KnownValue& indices) {
  if (!data.elements() || *data.elements() > kKnownLimit || indices.real() || !indices.elements() || indices.dims.empty() ||
      *indices.elements() > kKnownLimit)
    return std::nullopt;
  const size_t depth = static_cast<size_t>(indices.dims.back().value), count = depth == 0 ? 0 : static_cast<size_t>(*indices.elements()) / depth;
  if (depth == 0 || depth > data.dims.size()) return std::nullopt;
  Places places;
  for (size_t axis = depth; axis < data.dims.size(); ++axis) places.length *= static_cast<size_t>(data.dims[axis].value);
  for (size_t i = 0; i < count; ++i) {
    size_t at = 0;
    for (size_t axis = 0; axis < depth; ++axis) {
      const Dim index = indices.integer(i * depth + axis);
      const auto along = index.batch ? std::nullopt : axis_of(index.value, static_cast<size_t>(data.dims[axis].value));
      if (!along) return std::nullopt;
      at = at * static_cast<size_t>(data.dims[axis].value) + *along;
    }
    places.at.push_back(at * places.length);
  }
  return places;
}

Known fold_scatter_nd(const Call& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1), *updates = call.known(2);
  const auto* reduction = find_attribute(call.node, "reduction");
  if (!data || !indices || !updates || data->element != updates->element || !updates->elements() || (reduction && reduction->s() != "none"))
    return std::nullopt;
  const auto places = places_of(*data, *indices);
  if (!places || places->at.size() * places->length != static_cast<size_t>(*updates->elements())) return std::nullopt;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = picked(*data, data->dims, all);
  for (size_t i = 0; i < places->at.size() * places->length; ++i) {
    const size_t to = places->at[i / places->length] + i % places->length;
    if (known.real()) known.reals[to] = updates->number(i);
    else known.ints[to] = updates->integer(i);
  }
  return known;
}

Known fold_gather_nd(const Call& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1);
  if (!data || !indices || call.integer("batch_dims", 0) != 0) return std::nullopt;
  const auto places = places_of(*data, *indices);
  if (!places || places->at.size() * places->length > static_cast<size_t>(kKnownLimit)) return std::nullopt;
  Dims dims(indices->dims.begin(), indices->dims.end() - 1);
  dims.insert(dims.end(), data->dims.begin() + indices->dims.back().value, data->dims.end());
  std::vector<size_t> chosen;
  for (const size_t at : places->at)
    for (size_t i = 0; i < places->length; ++i) chosen.push_back(at + i);
  return picked(*data, std::move(dims), chosen);
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

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

namespace {

using FoldRule = Known (*)(const Call&);

const std::unordered_map<std::string_view, FoldRule>& fold_rules() {
  static const std::unordered_map<std::string_view, FoldRule> kRules = {
      {"Concat", fold_concat}, {"Constant", fold_constant}, {"ConstantOfShape", fold_constant_of_shape},
      {"Expand", fold_expand}, {"Gather", fold_gather}, {"GatherND", fold_gather_nd}, {"Identity", fold_identity}, {"Range", fold_range},
      {"ReduceProd", fold_reduce_prod}, {"Reshape", fold_reshape}, {"ScatterND", fold_scatter_nd}, {"Shape", fold_shape}, {"Size", fold_size},
      {"Slice", fold_slice}, {"Squeeze", fold_squeeze}, {"Transpose", fold_transpose}, {"Trilu", fold_trilu},
      {"Unsqueeze", fold_unsqueeze},
  };
  return kRules;
}

FoldRule rule_of(std::string_view op) {
  const auto found = fold_rules().find(op);
  return found == fold_rules().end() ? nullptr : found->second;
}

}  // namespace

Known fold(const onnx::NodeProto& node, int64_t opset, const std::vector<FoldInput>& inputs) {
  if (Known known = fold_progression(node, inputs)) return known;
  const bool only_shapes = node.op_type() == "Shape" || node.op_type() == "Size";
  if (!only_shapes && std::any_of(inputs.begin(), inputs.end(), [](const FoldInput& input) { return input.known && !input.known->steps.empty(); }))
    return std::nullopt;
  const FoldRule rule = rule_of(node.op_type());
  return rule ? rule({node, opset, inputs}) : fold_arithmetic(node, inputs);
}

bool can_fold(std::string_view op) { return rule_of(op) || can_fold_arithmetic(op); }

std::vector<std::string_view> folded_operators() {
  std::vector<std::string_view> names = names_of_fold_arithmetic();
  for (const auto& [name, rule] : fold_rules()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plimsoll
