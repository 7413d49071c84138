#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/progression.h"
#include "compiler/ops/rewritten.h"
#include "compiler/support/bytes.h"

namespace plimsoll::rewritten {

Known constant(const KnownCall& call) {
  if (const auto* value = find_attribute(call.node, "value")) return known_value_of(value->tensor());
  if (const auto* value = find_attribute(call.node, "value_int"))
    return KnownValue{.element = ElementType::i64, .ints = {{value->integer()}}};
  if (const auto* value = find_attribute(call.node, "value_float"))
    return KnownValue{.element = ElementType::f32, .reals = {value->real()}};
  if (const auto* value = find_attribute(call.node, "value_ints")) {
    std::vector<Dim> items;
    for (const int64_t item : value->integers()) items.push_back({item});
    return constants::integers(std::move(items));
  }
  if (const auto* value = find_attribute(call.node, "value_floats"))
    return KnownValue{.element = ElementType::f32, .dims = {{static_cast<int64_t>(value->reals().size())}},
                      .reals = {value->reals().begin(), value->reals().end()}};
  return std::nullopt;
}

// Any size: one element represents all, and the shape may depend on the batch.
Known constant_of_shape(const KnownCall& call) {
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

// ONNX's windows: sums of cosines over one period, whose last point a periodic window leaves out.
Known window(const KnownCall& call) {
  constexpr int64_t kFloat = 1;  // of TensorProto.DataType
  const KnownValue* const size = call.known(0);
  if (!size || size->real() || size->elements() != 1 || size->integer(0).batch) return std::nullopt;
  const int64_t length = size->integer(0).value;
  const int64_t period = std::max<int64_t>(1, call.integer("periodic", 1) != 0 ? length : length - 1);
  if (length < 1 || length > kKnownLimit || call.integer("output_datatype", kFloat) != kFloat) return std::nullopt;
  const std::array<double, 3> weights = call.node.op == "BlackmanWindow"  ? std::array{0.42, -0.5, 0.08}
                                        : call.node.op == "HammingWindow" ? std::array{25.0 / 46, -21.0 / 46, 0.0}
                                                                          : std::array{0.5, -0.5, 0.0};
  KnownValue known{.element = ElementType::f32, .dims = {{length}}};
  for (int64_t i = 0; i < length; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
    known.reals.push_back(
        static_cast<float>(weights[0] + weights[1] * std::cos(angle) + weights[2] * std::cos(2 * angle)));
  }
  return known;
}

// Only the shape of its input is read. Without dtype, the type is the input's.
Known eye_like(const KnownCall& call) {
  const Dims* dims = call.dims(0);
  if (!dims || dims->size() != 2 || (*dims)[0].batch || (*dims)[1].batch) return std::nullopt;
  const ModelAttribute* type = find_attribute(call.node, "dtype");
  KnownValue known{.element = type ? type->element() : call.inputs[0].element, .dims = *dims};
  const auto elements = known.elements();
  if (known.element == ElementType::undefined || !elements || *elements > kKnownLimit) return std::nullopt;
  const int64_t k = call.integer("k", 0), columns = (*dims)[1].value;
  for (int64_t i = 0; i < *elements; ++i) {
    const bool one = i % columns - i / columns == k;
    if (known.real()) known.reals.push_back(one ? 1 : 0);
    else known.ints.push_back({one ? 1 : 0});
  }
  return known;
}

Known shape(const KnownCall& call) {
  if (!call.dims(0)) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(call.dims(0)->size());
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(call.integer("start", 0)), end = clamp(call.integer("end", rank));
  if (start >= end) return constants::integers({});
  return constants::integers({call.dims(0)->begin() + start, call.dims(0)->begin() + end});
}

Known size(const KnownCall& call) {
  if (!call.dims(0)) return std::nullopt;
  Dim product{1};
  for (const Dim dim : *call.dims(0)) {
    const auto value = checked_mul(product.value, dim.value);
    if (!value || (product.batch && dim.batch)) return std::nullopt;
    product = {*value, product.batch || dim.batch};
  }
  return KnownValue{.element = ElementType::i64, .ints = {product}};
}

static Known real_range(const KnownCall& call) {
  for (size_t i = 0; i < 3; ++i)
    if (!call.known(i) || !call.known(i)->real() || call.known(i)->elements() != 1) return std::nullopt;
  const double start = call.known(0)->number(0), limit = call.known(1)->number(0), delta = call.known(2)->number(0);
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(kKnownLimit))) return std::nullopt;  // also rejects NaN
  // it may be -inf
  KnownValue known{.element = call.known(0)->element, .dims = {{count > 0 ? static_cast<int64_t>(count) : 0}}};
  for (int64_t i = 0; i < known.dims[0].value; ++i)
    known.reals.push_back(constants::rounded(start + static_cast<double>(i) * delta, known.element));
  return known;
}

// 0, step, 2·step, … below a multiple of the batch that is a multiple of the step.
static Known range_of_samples(const KnownCall& call) {
  for (size_t i = 0; i < 3; ++i)
    if (!call.known(i) || call.known(i)->real() || call.known(i)->elements() != 1) return std::nullopt;
  const Dim start = call.known(0)->integer(0), limit = call.known(1)->integer(0), step = call.known(2)->integer(0);
  if (start != Dim{0} || !limit.batch || step.batch || step.value <= 0 || limit.value % step.value != 0)
    return std::nullopt;
  const Dims dims = {{limit.value / step.value, true}};
  return known_of({.element = call.known(0)->element, .dims = dims, .steps = {step.value}});
}

Known range(const KnownCall& call) {
  if (call.known(0) && call.known(0)->real()) return real_range(call);
  if (Known known = range_of_samples(call)) return known;
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
  KnownValue known = constants::integers(std::move(items));
  known.element = call.known(0)->element;
  return known;
}

// The coordinates of the elements that are not zero, a row for each dimension. Exporters count with it: the coordinates
// of ones are 0, 1, …, also up to the number of samples (as_strided in files of TorchScript's exporter).
Known non_zero(const KnownCall& call) {
  const KnownValue* x = call.known(0);
  if (!x) return std::nullopt;
  const auto counts = [&](size_t i) { return x->real() ? x->number(i) != 0 : x->integer(i) != Dim{0}; };
  if (x->alike_for_each_sample()) {
    if (x->dims.size() != 1 || !x->splat() || !counts(0)) return std::nullopt;
    return known_of({.element = ElementType::i64, .dims = {{1}, x->dims[0]}, .steps = {0, 1}});
  }
  if (x->depends_on_batch() || !x->elements() || *x->elements() > kKnownLimit) return std::nullopt;
  std::vector<int64_t> found;
  for (int64_t i = 0; i < *x->elements(); ++i)
    if (counts(static_cast<size_t>(i))) found.push_back(i);
  KnownValue known{.element = ElementType::i64,
                   .dims = {{static_cast<int64_t>(x->dims.size())}, {static_cast<int64_t>(found.size())}}};
  int64_t inner = std::max<int64_t>(1, *x->elements());
  for (const Dim dim : x->dims) {
    if (found.empty()) break;
    inner /= dim.value;
    for (const int64_t i : found) known.ints.push_back({i / inner % dim.value});
  }
  return known;
}

Known gather_nd(const KnownCall& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1);
  if (!data || !indices || call.integer("batch_dims", 0) != 0) return std::nullopt;
  const auto places = constants::places_of(*data, *indices);
  if (!places || places->at.size() * places->length > static_cast<size_t>(kKnownLimit)) return std::nullopt;
  Dims dims(indices->dims.begin(), indices->dims.end() - 1);
  dims.insert(dims.end(), data->dims.begin() + indices->dims.back().value, data->dims.end());
  std::vector<size_t> chosen;
  for (const size_t at : places->at)
    for (size_t i = 0; i < places->length; ++i) chosen.push_back(at + i);
  return constants::picked(*data, std::move(dims), chosen);
}

Known scatter_nd(const KnownCall& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1), *updates = call.known(2);
  const auto* reduction = find_attribute(call.node, "reduction");
  if (!data || !indices || !updates || data->element != updates->element || !updates->elements() ||
      (reduction && reduction->text() != "none"))
    return std::nullopt;
  const auto places = constants::places_of(*data, *indices);
  if (!places || places->at.size() * places->length != static_cast<size_t>(*updates->elements())) return std::nullopt;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = constants::picked(*data, data->dims, all);
  for (size_t i = 0; i < places->at.size() * places->length; ++i) {
    const size_t to = places->at[i / places->length] + i % places->length;
    if (known.real()) known.reals[to] = updates->number(i);
    else known.ints[to] = updates->integer(i);
  }
  return known;
}

std::optional<Dims> scatter_nd_dims(const KnownCall& call) {
  const Dims* data = call.dims(0);
  return data ? std::optional(*data) : std::nullopt;
}

Known tile(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto repeats = call.list("", 1);
  if (!data || !data->elements() || !call.known(1) || !repeats || repeats->size() != data->dims.size())
    return std::nullopt;
  Dims dims;
  int64_t count = 1;
  for (size_t i = 0; i < repeats->size(); ++i) {
    const auto size = (*repeats)[i] < 0 ? std::nullopt : checked_mul(data->dims[i].value, (*repeats)[i]);
    const auto more = size ? checked_mul(count, *size) : std::nullopt;
    if (!more || *more > kKnownLimit) return std::nullopt;
    count = *more;
    dims.push_back({*size});
  }
  std::vector<size_t> chosen(static_cast<size_t>(count));
  for (size_t flat = 0; flat < chosen.size(); ++flat) {
    size_t rest = flat, stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      const auto size = static_cast<size_t>(data->dims[i].value);
      chosen[flat] += rest % static_cast<size_t>(dims[i].value) % size * stride;
      rest /= static_cast<size_t>(dims[i].value);
      stride *= size;
    }
  }
  return constants::picked(*data, std::move(dims), chosen);
}

Known trilu(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto diagonal = call.list("", 1);
  if (!data || !data->elements() || *data->elements() > kKnownLimit || data->dims.size() < 2 || !diagonal)
    return std::nullopt;
  const int64_t k = diagonal->empty() ? 0 : (*diagonal)[0], columns = data->dims.back().value,
                rows = data->dims[data->dims.size() - 2].value;
  const bool upper = call.integer("upper", 1) != 0;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = constants::picked(*data, data->dims, all);
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
    if (upper ? column - row >= k : column - row <= k) continue;
    if (known.real()) known.reals[i] = 0;
    else known.ints[i] = {0};
  }
  return known;
}

Known cast_like(const KnownCall& call) {
  if (call.inputs.size() != 2 || !call.known(0) || call.inputs[1].element == ElementType::undefined)
    return std::nullopt;
  return cast_to(*call.known(0), call.inputs[1].element);
}

}  // namespace plimsoll::rewritten
