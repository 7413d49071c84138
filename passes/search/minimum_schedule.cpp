#include "passes/search/minimum_schedule.h"

#include <algorithm>

#include "passes/search/seeds.h"

namespace plimsoll::search {

State minimum_schedule(Workbench& bench, const Means& means) {
  Decisions away = schedule::keep_everything(bench.model);
  for (size_t id = 0; id < away.activations.size(); ++id) {
    const schedule::ModelTensor& tensor = bench.model.tensors[id];
    if (!tensor.movable || tensor.gap_end == schedule::kNever) continue;
    if (means.offload || tensor.input()) away.activations[id] = {.kind = DecisionKind::offload, .again = true};
    else if (means.recompute && tensor.recomputable)
      away.activations[id] = {DecisionKind::recompute, schedule::kTransient, true};
  }
  if (means.offload)
    for (ResidenceDecision& residence : away.residences) residence = {.on_host = true, .again = true};
  State minimum = bench.evaluate(away, 0);
  if (!bench.pool_binds) return minimum;
  const auto consider = [&](Decisions decisions) {
    decisions.residences = away.residences;
    State other = bench.evaluate(std::move(decisions), 0);
    if (other.outcome.peak_bytes < minimum.outcome.peak_bytes) minimum = std::move(other);
  };
  consider(schedule::keep_everything(bench.model));
  if (means.recompute) {
    const int size = static_cast<int>(std::min<size_t>(bench.model.order.size(), 1024));
    for (int segments = 2; 4 * segments <= size && segments <= 256; segments *= 2)
      for (const int parts : {1, 4}) consider(segment_decisions(bench.model, {.segments = segments, .parts = parts}));
  }
  return bench.evaluate(minimum.decisions, 0);
}

}  // namespace plimsoll::search
