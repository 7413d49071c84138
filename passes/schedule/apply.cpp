#include "passes/schedule/apply.h"

namespace plimsoll::schedule {

bool lower_possible(const Model& model, Decisions& decisions, Trace& trace, size_t longest) {
  Lowering lowering(model);
  return lower_possible(lowering, decisions, trace, longest);
}

bool lower_possible(Lowering& lowering, Decisions& decisions, Trace& trace, size_t longest) {
  while (const std::optional<int32_t> stuck = lowering.lower_to_steps(decisions, trace, longest)) {
    if (*stuck == kTooLong) return false;
    ActivationDecision& decision = decisions.activations[static_cast<size_t>(*stuck)];
    PLIMSOLL_CHECK(decision.kind != DecisionKind::keep, "a tensor is missing that was never given up");
    decision = {};
  }
  return true;
}

}  // namespace plimsoll::schedule
