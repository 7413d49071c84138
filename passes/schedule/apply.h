// What policies end with: fates become the plan's steps.
#pragma once

#include "passes/schedule/copies.h"
#include "passes/schedule/weave.h"

namespace plimsoll::schedule {

enum class CopyTiming {
  as_woven,    // offloads behind the last forward use, fetches before the next: for policies with a rule of their own
  overlapped,  // time_copies, under the context's live_limit
};

// Corrects fates that cannot be (weave.h) to keep. Beyond this call weave() succeeds, and `trace` is what it gives.
// False: it would have more than `longest` steps, and is unfinished.
bool weave_possible(Weaver& weaver, Fates& fates, Trace& trace, size_t longest = kAnyLength);
bool weave_possible(const Model& model, Fates& fates, Trace& trace, size_t longest = kAnyLength);

// Before: plan.steps are as the order pass left them. After: as passes/schedule_steps.h says.
void apply_fates(Plan& plan, const Context& context, Fates fates, CopyTiming timing = CopyTiming::overlapped);

}  // namespace plimsoll::schedule
