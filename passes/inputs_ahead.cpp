#include "passes/inputs_ahead.h"

#include "compiler/support/bytes.h"

namespace plimsoll {

int64_t bytes_of_inputs(const TaskGraph& graph, int64_t samples) {
  int64_t bytes = 0;
  for (const TensorId input : graph.inputs) bytes += align_up(graph.tensors[input].bytes(samples));
  return bytes;
}

void place_inputs_ahead(Plan& plan, const TaskGraph& graph, int64_t budget_bytes) {
  const int64_t bytes = bytes_of_inputs(graph, plan.rank_samples());
  const int64_t offset = align_up(plan.summary.arena_bytes);
  if (bytes == 0 || offset > budget_bytes - bytes) return;
  plan.inputs_ahead = {offset, bytes};
  plan.summary.arena_bytes = plan.inputs_ahead.end();
}

}  // namespace plimsoll
