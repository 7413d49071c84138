// What is known about the values that a node reads, before it is added to the network.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"
#include "compiler/ops/evaluate.h"

namespace plimsoll {

// undefined: unknown, or u8 or boolean, which DataType does not distinguish.
ElementType element_of(const Network& network, const Entry& entry);

// Whether the value holds booleans, which element_of does not distinguish from u8: it is the result of a comparison, an
// input declared as boolean, or elements of one of these (Slice, Reshape, …). False if its makers do not tell.
bool is_boolean(const Model& model, const GraphUses& uses, std::string_view name);

// Whether the node's output equals its input: an Identity, a cast to the same type, or one to f64 that is only tested
// (TorchScript's exporter asks in f64 whether a number is infinite).
bool is_alias(const Model& model, const GraphUses& uses, const Network& network, ValueTable& table,
              const ModelNode& source);

// Each input as far as it is known, for fold().
std::vector<KnownInput> known_inputs(const Network& network, ValueTable& table, const ModelNode& source);

}  // namespace plimsoll
