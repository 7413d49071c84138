// What the compiler can know of a graph without running it: constants, and shapes with the batch as a symbol. This is
// what makes the Shape → Gather → Unsqueeze → Concat → Reshape chains of exporters vanish.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/known_value.h"

namespace plimsoll {

// An input as far as it is known. Both null: the optional input is left out, or nothing is known.
struct FoldInput {
  const KnownValue* known = nullptr;
  const Dims* dims = nullptr;
  ElementType element = ElementType::undefined;  // its type, where that is known
};

// The first output of the node; nullopt when it is not known, or depends on the batch in a way that `times N` cannot
// express (N·N, N + 1).
std::optional<KnownValue> fold(const ModelNode& node, int64_t opset, const std::vector<FoldInput>& inputs);

// Whether fold() has a rule for the operator at all.
bool can_fold(std::string_view op);

// Operators whose results are worked out where their inputs are known but for the batch: in alphabetical order.
std::vector<std::string_view> folded_operators();

// --- shared by fold.cpp and fold_arithmetic.cpp ---

bool can_fold_arithmetic(std::string_view op);
std::vector<std::string_view> names_of_fold_arithmetic();

// Element by element with broadcasting, on operators like Mul, Equal, Sqrt, Cast, Where. nullopt as above.
std::optional<KnownValue> fold_arithmetic(const ModelNode& node, const std::vector<FoldInput>& inputs);

// As the element type holds it.
double rounded(double value, ElementType element);

// NumPy's broadcasting; nullopt when the shapes do not fit or depend on the batch.
std::optional<Dims> broadcast(const std::vector<const Dims*>& shapes);

// For each element of `to`, row-major, the index of the element of `from` (broadcast to it) that stands there.
std::vector<size_t> broadcast_indices(const Dims& from, const Dims& to);

}  // namespace plimsoll
