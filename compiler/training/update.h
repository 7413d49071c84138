// One update task per trained parameter: the optimizer's kernel on the weight, its gradient and its own state.
//   SgdUpdate {w, g}   MomentumUpdate {w, g, v}   AdamUpdate {w, g, m, v}
// w and the state are updated in place; g is read, or updated (cleared) when gradients accumulate over rounds.
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

void add_update(TaskGraph& graph, TaskBuilder& builder, const Trained& trained, const OptimizerOptions& optimizer);

}  // namespace plimsoll
