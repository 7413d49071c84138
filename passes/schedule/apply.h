// The last step of every policy: turns per-tensor decisions into the plan's steps.
#pragma once

#include "passes/schedule/copies.h"
#include "passes/schedule/weave.h"

namespace plimsoll::schedule {

enum class CopyTiming {
  as_woven,    // offloads after the last forward use, fetches before the next use: for policies with their own rule
  overlapped,  // time_copies, under the context's live_limit
};

// Changes decisions that are impossible (weave.h) to keep. Afterwards weave() succeeds, and `trace` is its result.
// Returns false, with the trace unfinished, if it would have more than `longest` steps.
bool weave_possible(Weaver& weaver, Fates& fates, Trace& trace, size_t longest = kAnyLength);
bool weave_possible(const Model& model, Fates& fates, Trace& trace, size_t longest = kAnyLength);

// Before: plan.steps are as the order pass left them. After: as stated in passes/schedule_steps.h.
void apply_fates(Plan& plan, const Context& context, Fates fates, CopyTiming timing = CopyTiming::overlapped);

}  // namespace plimsoll::schedule
