// What the compiler can know of a graph without running it: constants, and shapes with the batch as a symbol. This is
// what makes the Shape → Gather → Unsqueeze → Concat → Reshape chains of exporters vanish. What an operator makes of known inputs is
// in its file (Op::evaluate); here is what goes beyond one operator: even steps (progression.h), and samples that are alike (fold_alike.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ops/evaluate.h"

namespace plimsoll {

// The first output of the node; nullopt when it is not known, or depends on the batch in a way that `times N` cannot
// express (N·N, N + 1).
std::optional<KnownValue> fold(const ModelNode& node, int64_t opset, const std::vector<KnownInput>& inputs);

// Whether fold() has a rule for the operator at all.
bool can_fold(std::string_view op);

// Operators whose results are worked out where their inputs are known but for the batch: in alphabetical order.
std::vector<std::string_view> folded_operators();

}  // namespace plimsoll
