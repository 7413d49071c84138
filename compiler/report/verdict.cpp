#include "compiler/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// "38 tensors offloaded, 40 operations recomputed, 2 weights kept on the host"
std::string decisions_of(const Plan& plan, const PlanFacts& facts) {
  int64_t offloaded = 0, host = 0;
  IdVector<TensorId, bool> leaves(plan.tensors.size());
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::offload) leaves[step.tensor] = true;
  for (const TensorId id : ids_of(plan.tensors)) {
    const bool on_host = facts.tensors[id].fate == Fate::home;
    offloaded += leaves[id] && !on_host;
    host += on_host && !plan.tensors[id].slice_of.valid();
  }
  const int64_t recomputed =
      std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.recompute; });
  std::string text;
  const auto add = [&](int64_t count, const char* what, const char* done) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counted(count, what), done);
  };
  add(offloaded, "tensor", "offloaded");
  add(recomputed, "operation", "recomputed");
  add(host, "weight or state tensor", "kept on the host");
  if (plan.rounds > 1)
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", counted(plan.rounds, "round"),
                        counted(plan.sub_batch, "sample"));
  return text;
}

}  // namespace

std::string verdict_of(const Plan& plan, const PlanFacts& facts) {
  const PlanSummary& summary = plan.summary;
  const bool fits = summary.arena_bytes <= plan.budget_bytes;
  std::string text = fits ? fmt::format("Fits {}", format_bytes(plan.budget_bytes))
                          : fmt::format("Takes {}, more than the budget of {}", format_bytes(summary.arena_bytes),
                                        format_bytes(plan.budget_bytes));
  if (summary.unconstrained_bytes > plan.budget_bytes)
    text += fmt::format(
        ", {} of {}",
        format_share(static_cast<double>(plan.budget_bytes) / static_cast<double>(summary.unconstrained_bytes)),
        format_bytes(summary.unconstrained_bytes));
  const std::string decisions = decisions_of(plan, facts);
  if (summary.unconstrained_seconds > 0) {
    const double slower = summary.iteration_seconds / summary.unconstrained_seconds - 1;
    text += slower >= 5e-4    ? fmt::format("; {:.1f}% slower than unlimited", 100 * slower)
            : slower <= -5e-4 ? fmt::format("; {:.1f}% faster than unlimited", -100 * slower)
                              : "; as fast as unlimited";
  }
  return text + (decisions.empty() ? ": everything stays on the device." : ": " + decisions + ".");
}

}  // namespace plimsoll
