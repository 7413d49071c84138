#pragma once

#include "passes/context.h"

namespace plimsoll {

// Policy `auto`: jointly per tensor keep, offload or recompute, per task the algorithm, and when copies are issued. What a
// search over whole plans has decided (Context::decided), or, where none was made, the fastest schedule of the frontier
// (search/frontier.h) within the context's live limit; when nothing is, the one that needs least.
Status auto_schedule(Plan& plan, const Context& context);

}  // namespace plimsoll
