#include <algorithm>
#include <numeric>

#include "compiler/network/simplify/fold_call.h"
#include "compiler/support/bytes.h"

namespace plimsoll::folding {
namespace {

// Elements before, at and after an axis. Of shapes without the batch.
struct Extents { size_t outer = 1, at = 1, inner = 1; };

Extents extents(const Dims& dims, size_t axis) {
  Extents e;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? e.outer : i == axis ? e.at : e.inner) *= static_cast<size_t>(dims[i].value);
  return e;
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

}  // namespace

Known gather(const Call& call) {
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

Known concat(const Call& call) {
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

// Of one number in all elements: any size, also the batch's along another axis (states of zeros, layer by layer).
Known slice_of_splat(const KnownValue& data, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends, const std::vector<int64_t>& axes) {
  Dims dims = data.dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = axis_of(axes[i], dims.size());
    if (!axis || dims[*axis].batch) return std::nullopt;
    const int64_t size = dims[*axis].value;
    const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? std::max(at, -size) + size : at, 0, size); };
    dims[*axis] = {std::max<int64_t>(clamp(ends[i]) - clamp(starts[i]), 0)};
  }
  return reshaped(data, std::move(dims));
}

Known slice(const Call& call) {
  const KnownValue* data = call.known(0);
  const auto starts = call.list("starts", 1), ends = call.list("ends", 2);
  auto axes = call.list("axes", 3), steps = call.list("steps", 4);
  if (data && data->splat() && !data->elements() && starts && ends && axes && steps && starts->size() == ends->size() && axes->size() == starts->size() &&
      std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step == 1; }))
    return slice_of_splat(*data, *starts, *ends, *axes);
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

Known transpose(const Call& call) {
  const KnownValue* data = call.known(0);
  if (!data || !data->elements() || *data->elements() > kKnownLimit) return std::nullopt;
  const size_t rank = data->dims.size();
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  if (const auto* perm = find_attribute(call.node, "perm")) {
    std::vector<bool> seen(rank, false);
    if (perm->integers().size() != rank) return std::nullopt;
    for (size_t i = 0; i < rank; ++i) {
      const auto axis = axis_of(perm->integers()[i], rank);
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

Known trilu(const Call& call) {
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

Known scatter_nd(const Call& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1), *updates = call.known(2);
  const auto* reduction = find_attribute(call.node, "reduction");
  if (!data || !indices || !updates || data->element != updates->element || !updates->elements() || (reduction && reduction->text() != "none"))
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

namespace {

// Whatever is picked of it, it is that number (a table of token types that are all 0).
bool is_one_number(const KnownValue& known) {
  if (!known.steps.empty() || !known.probes.empty() || (known.ints.empty() && known.reals.empty())) return false;
  return std::all_of(known.ints.begin(), known.ints.end(), [&](Dim item) { return item == known.ints[0] && !item.batch; }) &&
         std::all_of(known.reals.begin(), known.reals.end(), [&](double item) { return item == known.reals[0]; });
}

}  // namespace

Known gather_elements(const Call& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1);
  if (data && call.dims(1) && is_one_number(*data)) {
    KnownValue known = *data;
    known.ints.resize(std::min<size_t>(known.ints.size(), 1));
    known.reals.resize(std::min<size_t>(known.reals.size(), 1));
    known.dims = *call.dims(1);
    return known;
  }
  if (!data || !indices || indices->real() || !data->elements() || !indices->elements() || *indices->elements() > kKnownLimit ||
      data->dims.size() != indices->dims.size())
    return std::nullopt;
  const auto axis = axis_of(call.integer("axis", 0), data->dims.size());
  if (!axis) return std::nullopt;
  for (size_t i = 0; i < data->dims.size(); ++i)
    if (i != *axis && indices->dims[i].value > data->dims[i].value) return std::nullopt;
  std::vector<size_t> chosen;
  for (size_t flat = 0; flat < static_cast<size_t>(*indices->elements()); ++flat) {
    const Dim index = indices->integer(flat);
    const auto along = index.batch ? std::nullopt : axis_of(index.value, static_cast<size_t>(data->dims[*axis].value));
    if (!along) return std::nullopt;
    size_t rest = flat, from = 0, stride = 1;
    for (size_t i = data->dims.size(); i-- > 0;) {
      const auto size = static_cast<size_t>(indices->dims[i].value);
      from += (i == *axis ? *along : rest % size) * stride;
      rest /= size;
      stride *= static_cast<size_t>(data->dims[i].value);
    }
    chosen.push_back(from);
  }
  return picked(*data, indices->dims, chosen);
}

Known cumulative_sum(const Call& call) {
  const KnownValue *data = call.known(0), *along = call.known(1);
  if (!data || !along || along->real() || along->elements() != 1 || along->integer(0).batch || !data->elements() || *data->elements() > kKnownLimit)
    return std::nullopt;
  const auto axis = axis_of(along->integer(0).value, data->dims.size());
  if (!axis) return std::nullopt;
  const Extents e = extents(data->dims, *axis);
  const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = picked(*data, data->dims, all);
  for (size_t outer = 0; outer < e.outer; ++outer)
    for (size_t inner = 0; inner < e.inner; ++inner) {
      double real = 0;
      int64_t whole = 0;
      for (size_t step = 0; step < e.at; ++step) {
        const size_t i = (outer * e.at + (reverse ? e.at - 1 - step : step)) * e.inner + inner;
        if (known.real()) {
          const double item = data->number(i), before = real;
          real = rounded(real + item, known.element);
          known.reals[i] = exclusive ? before : real;
        } else {
          const Dim item = data->integer(i);
          const int64_t before = whole;
          if (item.batch || __builtin_add_overflow(whole, item.value, &whole)) return std::nullopt;
          known.ints[i] = {exclusive ? before : whole};
        }
      }
    }
  return known;
}

Known tile(const Call& call) {
  const KnownValue* data = call.known(0);
  const auto repeats = call.list("", 1);
  if (!data || !data->elements() || !call.known(1) || !repeats || repeats->size() != data->dims.size()) return std::nullopt;
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
  return picked(*data, std::move(dims), chosen);
}

Known gather_nd(const Call& call) {
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

}  // namespace plimsoll::folding
