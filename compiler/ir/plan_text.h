// The text form of plans, for dumps, bug reports and tests: one fact per line, names instead of numbers, canonical.
// Unlike plan.json it is meant for reading: the address that a step makes resident is on its line, and the end of a
// residency follows from the lines.
//
//   plan three-convs v1 batch=64 sub_batch=64 rounds=1 last=64
//   target host device=here costs=modelled
//   policy auto
//   budget 37748736
//   summary arena_bytes=36725952 …
//   tensor %x input 3145728
//   tensor %c1.Y activation 2097152 in_bf16
//   tensor %c1.W weight 1728 persistent
//   tensor %c1.W.momentum optimizer_state 1728 home@0x1000000
//   task c1.forward Conv forward layer=c1 read %x %c1.W write %c1.Y flops=226492416
//   hold     %c1.W@0x0
//   h2d      load:x -> %x@0x2003200
//   compute  c1.forward -> %c1.Y@0x3200 algorithm=direct workspace=2097152@0x1003200 after load:x
//   d2h      offload:c1.Y host@0x0 after c1.forward
//   h2d      prefetch:c1.Y host@0x0 -> %c1.Y@0x3200 after loss
//   compute  recompute:c1.forward -> %c1.Y@0x3200
//   h2d      prefetch:c1.W.momentum host@0x1000000 rounds=last -> %c1.W.momentum@0x1400 after c1.weights
//
// Lines are in issue order, and lines of one stream run in order. `after` names steps of other streams that must have
// finished; `~2` is the second occurrence. `rounds` is absent from steps of all rounds. A residency lasts until the
// last line that accesses the tensor before it becomes resident again; a `kept` one lasts to the end of the round.
// Facts that later passes add are absent before them.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Lossless, even for damaged plans, except for the order of residencies.
std::string to_text(const Plan& plan);

// to_text(plan_from_text(text)) is the canonical form of `text`. `what` names the text in errors. Error: invalid_model,
// with line and column. The checker decides whether it is a valid plan.
Result<Plan> plan_from_text(std::string_view text, const std::string& what = "plan");

}  // namespace plimsoll
