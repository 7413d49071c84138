// Lowers decisions of which some may be impossible.
#pragma once

#include "passes/schedule/copies.h"
#include "passes/schedule/lower.h"

namespace plimsoll::schedule {

// Changes decisions that are impossible (lower.h) to keep. Afterwards lower_to_steps() succeeds, and `trace` is its
// result. Returns false, with the trace unfinished, if it would have more than `longest` steps.
bool lower_possible(Lowering& lowering, Decisions& decisions, Trace& trace, size_t longest = kAnyLength);
bool lower_possible(const Model& model, Decisions& decisions, Trace& trace, size_t longest = kAnyLength);

}  // namespace plimsoll::schedule
