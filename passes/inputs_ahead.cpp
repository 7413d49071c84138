#include "passes/inputs_ahead.h"

#include <algorithm>

#include "compiler/support/bytes.h"
#include "passes/analysis/timeline.h"
#include "passes/simulate.h"

namespace plimsoll {
namespace {

// The most by which an iteration's first loads become shorter. A bound counts one of them in every round.
double most_saved(const Plan& plan, const LinkRates& links) {
  double most = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == TensorKind::input) most = std::max(most, seconds_saved_ahead(links, tensor.bytes));
  return static_cast<double>(plan.rounds) * most;
}

}  // namespace

int64_t bytes_of_inputs(const TaskGraph& graph, int64_t samples) {
  int64_t bytes = 0;
  for (const TensorId input : graph.inputs) bytes += align_up(graph.tensors[input].bytes(samples));
  return bytes;
}

Status place_inputs_ahead(Plan& plan, const Context& context, int64_t budget_bytes) {
  int64_t bytes = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == TensorKind::input) bytes += align_up(tensor.bytes);
  const int64_t offset = align_up(plan.summary.arena_bytes);
  if (bytes == 0 || offset > budget_bytes - bytes) return {};
  Plan ahead = plan;
  ahead.inputs_ahead = {offset, bytes};
  ahead.summary.arena_bytes = ahead.inputs_ahead.end();
  PLIMSOLL_TRY(simulate(ahead, context));
  if (ahead.summary.iteration_seconds >= plan.summary.iteration_seconds) return {};
  double& bound = ahead.summary.bound_seconds;
  bound = std::clamp(bound - most_saved(ahead, context.links), 0.0, ahead.summary.iteration_seconds);
  plan = std::move(ahead);
  return {};
}

}  // namespace plimsoll
