// One update task per trained parameter: the optimizer's kernel on the weight, its gradient and its own state.
//   SgdUpdate {w, g}   MomentumUpdate {w, g, v}   AdamUpdate {w, g, m, v}
//   LionUpdate {w, g, m}   LambUpdate {w, g, m, v, ratio}
// w and the state are updated in place; g is read, or updated (cleared) when gradients accumulate over rounds. LAMB's ratio
// is of the norms of the whole weight and of its whole step: a task that writes it is not cut into slices (sliced()).
//
// Clipping by norm needs every gradient before the first update. One task in front of the updates, of their kind, reads
// them all and makes the factor that each update then reads behind its other operands:
//   ClipFactor {g…, factor}   SgdUpdate {w, g, factor}   …
// So all gradients are alive together when it runs: that is what clipping costs, and the plan counts it.
#pragma once

#include "compiler/ops/task_builder.h"
#include "compiler/training/build.h"

namespace plimsoll {

struct Trained {
  const Value& parameter;
  std::string layer;  // the first node that reads it
  TensorId weight = {};
  TensorId gradient = {};
};

// The clip task; returns the factor's tensor.
TensorId add_clip(TaskGraph& graph, TaskBuilder& builder, const std::vector<Trained>& trained, double max_norm);

// `factor` is invalid where gradients are not clipped.
void add_update(TaskGraph& graph, TaskBuilder& builder, const Trained& trained, const OptimizerOptions& optimizer,
                TensorId factor);

}  // namespace plimsoll
