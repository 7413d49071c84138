// Which axis of the scores holds the classes (loss.h lists the cases in which that is clear).
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// `asked`: --class-axis, from the end where negative. Errors: invalid model, where the output cannot be scores, or has
// one class; usage, where nothing says which axis it is.
Result<size_t> class_axis_of(const Network& network, ValueId scores, std::optional<int64_t> asked);

// A Softmax or LogSoftmax over this axis and nothing else.
bool normalises_axis(const Network& network, const Node& node, int64_t axis);

Dims without_axis(Dims dims, size_t axis);

}  // namespace plimsoll
