// Op::evaluate: computes an operator's output from inputs known at compile time. Constant folding and shape computation
// share this one definition. In shapes the number of samples is a symbol.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/ir/model.h"

namespace plimsoll {

using Known = std::optional<KnownValue>;

// An input as far as it is known. If both are null, the optional input is omitted, or nothing is known.
struct KnownInput {
  const KnownValue* known = nullptr;
  const Dims* dims = nullptr;
  ElementType element = ElementType::undefined;  // its type, if known
};

// A node of a model, before it becomes a node of a network.
struct KnownCall {
  const ModelNode& node;
  int64_t opset;
  const std::vector<KnownInput>& inputs;

  const KnownValue* known(size_t i) const { return i < inputs.size() ? inputs[i].known : nullptr; }
  const Dims* dims(size_t i) const {
    if (known(i)) return &known(i)->dims;
    return i < inputs.size() ? inputs[i].dims : nullptr;
  }
  bool given(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  int64_t integer(std::string_view name, int64_t missing) const {
    const ModelAttribute* found = find_attribute(node, name);
    return found ? found->integer() : missing;
  }
  // An attribute of old opsets that became an input: axes, starts. nullopt: given but unknown; empty: omitted.
  std::optional<std::vector<int64_t>> list(std::string_view name, size_t input) const {
    if (const ModelAttribute* found = find_attribute(node, name))
      return std::vector<int64_t>(found->integers().begin(), found->integers().end());
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

// Building blocks for `evaluate` functions.
namespace constants {

inline KnownValue integers(std::vector<Dim> items) {
  KnownValue known{.element = ElementType::i64, .dims = {{static_cast<int64_t>(items.size())}}};
  known.ints = std::move(items);
  return known;
}

// The items of a list of integers, such as a shape, in which the batch is a symbol. nullopt: it is none.
std::optional<Dims> items(const KnownValue* list);

// The same elements with another shape.
inline KnownValue reshaped(const KnownValue& from, Dims dims) {
  KnownValue known = from;
  known.dims = std::move(dims);
  return known;
}

// Elements of `from` in the order of `indices`.
inline KnownValue picked(const KnownValue& from, Dims dims, const std::vector<size_t>& indices) {
  KnownValue known{.element = from.element, .dims = std::move(dims)};
  if (from.real())
    for (const size_t i : indices) known.reals.push_back(from.number(i));
  else
    for (const size_t i : indices) known.ints.push_back(from.integer(i));
  return known;
}

// An axis, or another index, counted from the end if negative.
inline std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

// The number of elements before, at and after an axis. For shapes without the batch.
struct Extents { size_t outer = 1, at = 1, inner = 1; };

Extents extents(const Dims& dims, size_t axis);

// Where an index (the last dimension of `indices`) begins in the data, and the number of elements it selects.
struct Places {
  std::vector<size_t> at = {};
  size_t length = 1;
};
std::optional<Places> places_of(const KnownValue& data, const KnownValue& indices);

// GatherElements, ScatterElements: for each index, the place of its element in data of that shape. nullopt, where an
// index is out of range, or where the shapes do not fit.
std::optional<std::vector<size_t>> places_along(const Dims& data, const KnownValue& indices, int64_t axis);

// The value as the element type represents it.
double rounded(double value, ElementType element);

// NumPy's broadcasting; nullopt if the shapes do not match or depend on the batch.
std::optional<Dims> broadcast(const std::vector<const Dims*>& shapes);

// For each element of `to`, in row-major order, the index of the corresponding element of `from`, broadcast to `to`.
std::vector<size_t> broadcast_indices(const Dims& from, const Dims& to);

}  // namespace constants
}  // namespace plimsoll
