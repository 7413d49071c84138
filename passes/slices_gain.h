// Whether updating weights in slices is worth a search (docs/decisions/slices.md).
#pragma once

#include <cstdint>

#include "compiler/ir/task_graph.h"

namespace plimsoll {

// A search on two graphs takes twice as long. It pays for a model in which one layer holds a large part of all weights
// and the update of that layer determines the minimum plan, of `minimum_bytes`.
bool may_gain_by_slices(const TaskGraph& graph, int64_t minimum_bytes);

// False if the update is small compared with the activations: then all of its state stays on the device, or leaves as a
// whole.
bool has_much_state(const TaskGraph& graph, int64_t unconstrained_bytes);

}  // namespace plimsoll
