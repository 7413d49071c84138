#include "passes/schedule/apply.h"

namespace plimsoll::schedule {

void weave_possible(const Model& model, Fates& fates, Trace& trace) {
  while (const std::optional<int32_t> stuck = weave(model, fates, trace)) {
    Fate& fate = fates[static_cast<size_t>(*stuck)];
    PLIMSOLL_CHECK(fate.kind != FateKind::keep, "a tensor is missing that was never given up");
    fate = {};
  }
}

void apply_fates(Plan& plan, const Context& context, Fates fates, CopyTiming timing) {
  const Model model = make_model(plan, context);
  Trace trace;
  weave_possible(model, fates, trace);
  if (timing == CopyTiming::overlapped) {
    Evaluator evaluator(model);
    time_copies(model, evaluator, trace, context.live_limit);
  }
  put_steps(plan, trace);
}

}  // namespace plimsoll::schedule
