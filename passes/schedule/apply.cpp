#include "passes/schedule/apply.h"

namespace plimsoll::schedule {

bool weave_possible(const Model& model, Fates& fates, Trace& trace, size_t longest) {
  Weaver weaver(model);
  return weave_possible(weaver, fates, trace, longest);
}

bool weave_possible(Weaver& weaver, Fates& fates, Trace& trace, size_t longest) {
  while (const std::optional<int32_t> stuck = weaver.weave(fates, trace, longest)) {
    if (*stuck == kTooLong) return false;
    Fate& fate = fates[static_cast<size_t>(*stuck)];
    PLIMSOLL_CHECK(fate.kind != FateKind::keep, "a tensor is missing that was never given up");
    fate = {};
  }
  return true;
}

void apply_fates(Plan& plan, const Context& context, Fates fates, CopyTiming timing) {
  std::optional<Model> made;
  const Model& model = model_of(plan, context, made);
  Trace trace;
  weave_possible(model, fates, trace);
  if (timing == CopyTiming::overlapped) {
    Evaluator evaluator(model);
    time_copies(model, evaluator, trace, context.live_limit);
  }
  put_steps(plan, trace);
}

}  // namespace plimsoll::schedule
