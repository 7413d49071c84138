#pragma once

#include "passes/context.h"

namespace plimsoll {

// Policy `auto`: decides jointly keep, offload or recompute per tensor, the algorithm per task, and when copies are
// issued. It applies the steps that a search over whole plans has chosen (Context::decided). Without them, it takes the
// fastest schedule of the frontier (search/frontier.h) within the live limit, or the minimum-memory schedule if none
// fits.
Status auto_schedule(Plan& plan, const Context& context);

}  // namespace plimsoll
