// Queries and edits shared by the passes on a network.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/network.h"

namespace plimsoll {

std::optional<NodeId> maker_of(const Network& network, ValueId value);

// The values that the given one depends on, including itself.
IdVector<ValueId, bool> made_of(const Network& network, ValueId value);

// A name that no value and no node has: `wish`, with a number appended if necessary.
std::string unused_name(const Network& network, const std::string& wish);

// Whether a shell pattern matches the name of a node or its module path.
bool node_matches(const Node& node, const std::string& pattern);

ValueId add_value(Network& network, const std::string& name, ValueKind kind, TensorType type);

}  // namespace plimsoll
