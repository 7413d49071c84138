// What passes look for in a network, and add to it.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/network.h"

namespace plimsoll {

std::optional<NodeId> maker_of(const Network& network, ValueId value);

// Which values the given one is made of; itself, too.
IdVector<ValueId, bool> made_of(const Network& network, ValueId value);

// A name that no value and no node has: `wish`, or with a number behind it.
std::string unused_name(const Network& network, const std::string& wish);

ValueId add_value(Network& network, const std::string& name, ValueKind kind, TensorType type);

}  // namespace plimsoll
