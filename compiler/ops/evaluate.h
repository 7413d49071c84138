// What an operator makes of inputs that are known while compiling: Op::evaluate. This is the one meaning of it for constants and for
// shapes, in which the number of samples stands as a symbol.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/ir/model.h"

namespace plimsoll {

using Known = std::optional<KnownValue>;

// An input as far as it is known. Both null: the optional input is left out, or nothing is known.
struct KnownInput {
  const KnownValue* known = nullptr;
  const Dims* dims = nullptr;
  ElementType element = ElementType::undefined;  // its type, where that is known
};

// A node of a model, before it is one of a network.
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
  // An attribute of old opsets that became an input: axes, starts. nullopt: given but not known; empty: left out.
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

// Pieces of which rules are made.
namespace constants {

inline KnownValue integers(std::vector<Dim> items) {
  KnownValue known{.element = ElementType::i64, .dims = {{static_cast<int64_t>(items.size())}}};
  known.ints = std::move(items);
  return known;
}

// The same elements under another shape.
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

// An axis, or another index, counted from the end where negative.
inline std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

// Elements before, at and after an axis. Of shapes without the batch.
struct Extents { size_t outer = 1, at = 1, inner = 1; };

Extents extents(const Dims& dims, size_t axis);

// Where an index (the last dimension of `indices`) begins in the data, and how many elements stand there.
struct Places {
  std::vector<size_t> at = {};
  size_t length = 1;
};
std::optional<Places> places_of(const KnownValue& data, const KnownValue& indices);

// As the element type holds it.
double rounded(double value, ElementType element);

// NumPy's broadcasting; nullopt when the shapes do not fit or depend on the batch.
std::optional<Dims> broadcast(const std::vector<const Dims*>& shapes);

// For each element of `to`, row-major, the index of the element of `from` (broadcast to it) that stands there.
std::vector<size_t> broadcast_indices(const Dims& from, const Dims& to);

}  // namespace constants
}  // namespace plimsoll
