// Finds the axis of the scores that holds the classes (loss.h lists the unambiguous cases).
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/network.h"
#include "compiler/ops/node_view.h"
#include "compiler/support/status.h"

namespace plimsoll {

// `asked`: --class-axis, counted from the end if negative. Errors: invalid_model, if the output cannot be scores, or
// has one class; usage, if the axis is ambiguous.
Result<size_t> class_axis_of(const Network& network, ValueId scores, std::optional<int64_t> asked);

// Whether the node normalizes its output along this axis only, as a Softmax or LogSoftmax does.
bool normalises_axis(const Network& network, const Node& node, size_t axis);

// The axis of a Transpose's input that its output has as `axis`.
size_t axis_before(const NodeView& transpose, size_t axis);

Dims without_axis(Dims dims, size_t axis);

}  // namespace plimsoll
