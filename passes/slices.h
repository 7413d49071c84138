// When it may pay to update weights in slices (docs/decisions/slices.md). None of this depends on the budget, so a
// larger budget never gives a slower plan.
#pragma once

#include <cstdint>

#include "compiler/ir/task_graph.h"

namespace plimsoll {

// A search on two graphs takes twice as long. It pays for a model in which one layer holds a large part of all weights
// and the update of that layer determines the minimum plan, of `minimum_bytes`. With several ranks, weights are updated
// whole.
bool may_gain_by_slices(const TaskGraph& graph, int64_t minimum_bytes);

// Slices with all of their state in the host pool may be worth a search of their own. False if the update is small
// compared with the activations: then all of its state stays on the device, or leaves as a whole.
bool has_much_state(const TaskGraph& graph, int64_t unconstrained_bytes);

}  // namespace plimsoll
