// How nodes are folded. Rules that put the elements of constants elsewhere are in fold_elements.cpp, element by element
// arithmetic is in fold_arithmetic.cpp, constants with as many samples as the batch in fold_alike.cpp, all others in fold.cpp.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/network/simplify/fold.h"

namespace plimsoll::folding {

using Known = std::optional<KnownValue>;

struct Call {
  const ModelNode& node;
  int64_t opset;
  const std::vector<FoldInput>& inputs;

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

inline std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

// The rule `fold`, on inputs that are the same for each sample. nullopt: they are not, or what is made is not (fold_alike.cpp).
Known alike(const Call& call, Known (*fold)(const Call&));

Known concat(const Call& call);
Known cumulative_sum(const Call& call);
Known gather(const Call& call);
Known gather_elements(const Call& call);
Known gather_nd(const Call& call);
Known scatter_nd(const Call& call);
Known slice(const Call& call);
Known tile(const Call& call);
Known transpose(const Call& call);
Known trilu(const Call& call);

}  // namespace plimsoll::folding
