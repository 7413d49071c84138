#include <fmt/format.h>

#include "compiler/check/verdict.h"
#include "compiler/support/bytes.h"

namespace plimsoll {

// The bytes of the next round's inputs are written while steps run, without an order between them.
void check_inputs_ahead(const Plan& plan, Verdict& verdict) {
  const Block& ahead = plan.inputs_ahead;
  if (ahead.bytes == 0) return;
  int64_t needed = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == TensorKind::input) needed += align_up(tensor.bytes);
  if (ahead.bytes < needed)
    verdict.refuse(Rule::bounds,
                   fmt::format("the next round's inputs have {} bytes, and need {}", ahead.bytes, needed));
  if (ahead.offset < 0 || ahead.offset % kAlignment != 0)
    verdict.refuse(Rule::bounds, fmt::format("the next round's inputs are at {}, which is not aligned to {} bytes",
                                             ahead.offset, kAlignment));
  if (ahead.offset > plan.summary.arena_bytes - ahead.bytes)
    verdict.refuse(Rule::bounds, fmt::format("the next round's inputs at {:#x} end outside the arena of {} bytes",
                                             ahead.offset, plan.summary.arena_bytes));
  for (const Residency& residency : plan.residencies)
    if (ahead.overlaps(residency.block()))
      verdict.refuse(Rule::overlap, {}, residency.tensor,
                     fmt::format("{} at {:#x} is where the next round's inputs wait", verdict.name(residency.tensor),
                                 residency.offset));
  for (const StepId id : ids_of(plan.steps))
    if (ahead.overlaps(plan.steps[id].workspace))
      verdict.refuse(Rule::overlap, id, {},
                     fmt::format("the workspace of {} at {:#x} is where the next round's inputs wait", verdict.name(id),
                                 plan.steps[id].workspace.offset));
}

}  // namespace plimsoll
