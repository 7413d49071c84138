// What the compiler can evaluate in a graph without running it: constants, and shapes with the batch as a symbol. This
// removes the Shape → Gather → Unsqueeze → Concat → Reshape chains of exporters. How one operator is evaluated is in
// its file (Op::evaluate, Op::evaluate_spaced); this part covers what exceeds one operator: equal samples
// (fold_alike.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ops/evaluate.h"

namespace plimsoll {

// The first output of the node; nullopt if it is unknown, or depends on the batch in a way that `times N` cannot
// express (N·N, N + 1).
std::optional<KnownValue> fold(const ModelNode& node, int64_t opset, const std::vector<KnownInput>& inputs);

// Whether fold() has a rule for the operator.
bool can_fold(std::string_view op);

// Operators whose results are evaluated if their inputs are known except for the batch, in alphabetical order.
std::vector<std::string_view> folded_operators();

}  // namespace plimsoll
