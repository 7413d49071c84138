// The last step of every policy: turns per-tensor decisions into the plan's steps.
#pragma once

#include "passes/schedule/copies.h"
#include "passes/schedule/lower.h"

namespace plimsoll::schedule {

enum class CopyTiming {
  as_lowered,    // offloads after the last forward use, fetches before the next use: for policies with their own rule
  overlapped,  // time_copies, under the context's live_limit
};

// Changes decisions that are impossible (lower.h) to keep. Afterwards lower_to_steps() succeeds, and `trace` is its
// result. Returns false, with the trace unfinished, if it would have more than `longest` steps.
bool lower_possible(Lowering& lowering, Decisions& decisions, Trace& trace, size_t longest = kAnyLength);
bool lower_possible(const Model& model, Decisions& decisions, Trace& trace, size_t longest = kAnyLength);

// Before: plan.steps are as the order pass left them. After: as stated in passes/schedule_steps.h.
void apply_decisions(Plan& plan, const Context& context, Decisions decisions,
                     CopyTiming timing = CopyTiming::overlapped);

}  // namespace plimsoll::schedule
