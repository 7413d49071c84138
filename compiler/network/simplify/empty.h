// Empty slices, which exporters write if a part has no elements (a rotary embedding that covers a whole head). They are
// values without elements, and concatenating them changes nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// The output of a node, such as a Slice, that has no elements; nullopt if it has some, or is not known to have none.
std::optional<KnownValue> empty_output(const Network& network, ValueTable& table, const ModelNode& source,
                                       int64_t opset);

// A Concat without the inputs that are empty along its axis; nullopt if none are empty, or all are.
std::optional<ModelNode> without_empty_parts(ValueTable& table, const ModelNode& source);

}  // namespace plimsoll
