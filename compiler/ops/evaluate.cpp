#include "compiler/ops/evaluate.h"

#include "compiler/ops/dims.h"

namespace plimsoll::constants {

std::optional<Dims> items(const KnownValue* list) {
  if (!list || list->real() || !list->elements() || list->dims.size() != 1) return std::nullopt;
  Dims items;
  for (size_t i = 0; i < static_cast<size_t>(*list->elements()); ++i) items.push_back(list->integer(i));
  return items;
}

Extents extents(const Dims& dims, size_t axis) {
  Extents e;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? e.outer : i == axis ? e.at : e.inner) *= static_cast<size_t>(dims[i].value);
  return e;
}

std::optional<Places> places_of(const KnownValue& data, const KnownValue& indices) {
  if (!data.elements() || *data.elements() > kKnownLimit || indices.real() || !indices.elements() ||
      indices.dims.empty() || *indices.elements() > kKnownLimit)
    return std::nullopt;
  const size_t depth = static_cast<size_t>(indices.dims.back().value),
               count = depth == 0 ? 0 : static_cast<size_t>(*indices.elements()) / depth;
  if (depth == 0 || depth > data.dims.size()) return std::nullopt;
  Places places;
  for (size_t axis = depth; axis < data.dims.size(); ++axis)
    places.length *= static_cast<size_t>(data.dims[axis].value);
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

std::optional<std::vector<size_t>> places_along(const Dims& data, const KnownValue& indices, int64_t axis) {
  const auto along_axis = axis_of(axis, data.size());
  if (!along_axis || indices.real() || !indices.elements() || *indices.elements() > kKnownLimit ||
      data.size() != indices.dims.size())
    return std::nullopt;
  for (size_t i = 0; i < data.size(); ++i)
    if (data[i].batch || (i != *along_axis && indices.dims[i].value > data[i].value)) return std::nullopt;
  std::vector<size_t> places;
  for (size_t flat = 0; flat < static_cast<size_t>(*indices.elements()); ++flat) {
    const Dim index = indices.integer(flat);
    const auto along =
        index.batch ? std::nullopt : axis_of(index.value, static_cast<size_t>(data[*along_axis].value));
    if (!along) return std::nullopt;
    size_t rest = flat, place = 0, stride = 1;
    for (size_t i = data.size(); i-- > 0;) {
      const auto size = static_cast<size_t>(indices.dims[i].value);
      place += (i == *along_axis ? *along : rest % size) * stride;
      rest /= size;
      stride *= static_cast<size_t>(data[i].value);
    }
    places.push_back(place);
  }
  return places;
}

double rounded(double value, ElementType element) {
  return element == ElementType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

std::optional<Dims> broadcast(const std::vector<const Dims*>& shapes) {
  Dims common;
  for (const Dims* shape : shapes) {
    Result<Dims> more = dims::broadcast(common, *shape);
    if (!more.ok()) return std::nullopt;
    common = std::move(*more);
  }
  const auto count = dims::product_of(common);
  if (!count.ok() || count->batch || count->value > kKnownLimit) return std::nullopt;
  return common;
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

}  // namespace plimsoll::constants
