// Whether a search among updates in slices is worth its time (docs/decisions/slices.md).
#pragma once

#include <cstdint>

#include "compiler/ir/task_graph.h"

namespace plimsoll {

// A search on two graphs takes twice as long. It is for a model with a layer that holds a good part of all its weights,
// the update of which is what the least plan, of `least_bytes`, is made of.
bool may_gain_by_slices(const TaskGraph& graph, int64_t least_bytes);

// Where that update is little beside the activations, all of a state can stay, or can go at once.
bool has_much_state(const TaskGraph& graph, int64_t unconstrained_bytes);

}  // namespace plimsoll
