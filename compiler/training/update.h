// One update task per trained parameter: the optimizer's kernel on the weight, its gradient and its own state.
//   SgdUpdate {w, g}   MomentumUpdate {w, g, v}   AdamUpdate {w, g, m, v}
//   LionUpdate {w, g, m}   LambUpdate {w, g, m, v, ratio}
// w and the state are updated in place. g is read, or also cleared when gradients accumulate over rounds. LAMB's ratio
// uses the norms of the whole weight and of its whole step, so a task that writes it cannot be cut into slices
// (sliced()).
//
// A weight that tasks read in bf16 (Value::reduced) is stored in two halves (runtime/split_weight.h), and its update
// changes both: AdamUpdate {w, g, m, v, low}. `low` follows the state.
//
// Clipping by norm needs every gradient before the first update. One task before the updates, with kind update, reads
// them all and computes the factor, which each update reads as an additional operand:
//   ClipFactor {g…, factor}   SgdUpdate {w, g, factor}   …
// So all gradients are live together when it runs. This is the memory cost of clipping, and the plan includes it.
//
// In fp16 the loss's gradient is multiplied by a scale, which the trainer adapts (runtime/train/loss_scaling.h).
// Whether the updates of an iteration are skipped is known when every gradient is, so one task likewise precedes them.
// It divides by the scale, and clips if that is asked for; a negative factor means that a gradient is not finite:
//   UnscaleFactor {g…, factor}   SgdUpdate {w, g, factor}   …
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

// Adds the task that computes the factor, and returns the factor's tensor. `max_norm` 0: no clipping; `unscales`: in
// fp16.
TensorId add_factor(TaskGraph& graph, TaskBuilder& builder, const std::vector<Trained>& trained, double max_norm,
                    bool unscales);

// `factor`: invalid if there is none.
void add_update(TaskGraph& graph, TaskBuilder& builder, const Trained& trained, const OptimizerOptions& optimizer,
                TensorId factor);

}  // namespace plimsoll
