// What is known of the values that a node reads, before it is a node of the network.
#pragma once

#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/values.h"
#include "compiler/ops/evaluate.h"

namespace plimsoll {

// undefined: not known, or u8 or boolean, which DataType does not distinguish.
ElementType element_of(const Network& network, const Entry& entry);

// Whether the node makes what it reads: an Identity, or a cast to the type that is there.
bool is_alias(const Model& model, const Network& network, ValueTable& table, const ModelNode& source);

// Each input as far as it is known, for fold().
std::vector<KnownInput> known_inputs(const Network& network, ValueTable& table, const ModelNode& source);

}  // namespace plimsoll
