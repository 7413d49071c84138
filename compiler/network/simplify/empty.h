// Slices of nothing, which exporters write where a part has no elements (a rotary embedding of all of a head): they are
// values without elements, and put behind others they change nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// What a Slice of nothing makes; nullopt: it is none. Bounds are NumPy's, of steps of 1.
std::optional<KnownValue> empty_slice(const Network& network, ValueTable& table, const ModelNode& source,
                                      int64_t opset);

// A Concat without what is empty along its axis; nullopt: it has nothing of that kind, or nothing else.
std::optional<ModelNode> without_empty_parts(ValueTable& table, const ModelNode& source);

}  // namespace plimsoll
