// One update task per trained parameter: the optimizer's kernel on the weight, its gradient and its own state.
//   SgdUpdate {w, g}   MomentumUpdate {w, g, v}   AdamUpdate {w, g, m, v}
// w and the state are updated in place; g is read, or updated (cleared) when gradients accumulate over rounds.
#pragma once

#include "compiler/ops/task_builder.h"
#include "compiler/training/build.h"

namespace plimsoll {

void add_update(TaskGraph& graph, TaskBuilder& builder, const Value& parameter, TensorId weight, TensorId gradient,
                const OptimizerOptions& optimizer);

}  // namespace plimsoll
