#include "passes/analysis/floor.h"

#include <algorithm>

#include "passes/analysis/access.h"
#include "passes/analysis/liveness.h"
#include "passes/analysis/timeline.h"

namespace plimsoll {
namespace {

void wait_for_data(Plan& plan) {
  IdVector<TensorId, StepId> maker(plan.tensors.size());   // of each tensor on the device: the step that wrote it
  IdVector<TensorId, StepId> parked(plan.tensors.size());  // of each tensor in the host pool: its offload
  for (const StepId id : ids_of(plan.steps)) {
    Step& step = plan.steps[id];
    const auto after = [&](StepId earlier) {
      if (earlier.valid() && plan.steps[earlier].stream != step.stream) step.waits.push_back(earlier);
    };
    if (step.kind == StepKind::prefetch) after(parked[step.tensor]);
    for_each_access(plan, step, [&](TensorId tensor, bool reads, bool) {
      if (reads) after(maker[tensor]);
    });
    for_each_access(plan, step, [&](TensorId tensor, bool, bool writes) {
      if (writes) maker[tensor] = id;
    });
    if (step.kind == StepKind::offload) parked[step.tensor] = id;
  }
}

}  // namespace

// The plan gets waits and loses them again. A copy would have all its names, too.
double least_iteration_seconds(Plan& plan, const Context& context) {
  std::vector<size_t> waits;
  waits.reserve(plan.steps.size());
  for (const Step& step : plan.steps) waits.push_back(step.waits.size());
  wait_for_data(plan);
  double seconds = 0;
  for_each_round(plan, [&](Round round, int64_t times) {
    seconds += static_cast<double>(times) * simulate_round(plan, context, round).seconds;
  });
  for (const StepId id : ids_of(plan.steps)) plan.steps[id].waits.resize(waits[static_cast<size_t>(id.value)]);
  return seconds;
}

int64_t least_arena_bytes(const Plan& plan, const Context& context) {
  const std::vector<int64_t> live = live_bytes(plan, context.policy, true);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

}  // namespace plimsoll
