// Small hand-made task graphs and plans, to test codegen without the rest of the compiler.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll::test {

// Least squares: d = x·w - t, loss = mean of d², one SGD step. x is f32[N,4], t f32[N,2], w f32[4,2].
TaskGraph regression(int64_t batch);

// `layers` convolutions of 3x3 over f32[N,4,8,8], each followed by a ReLU, and the mean of squares of the result.
TaskGraph tower(int64_t batch, int layers);

// Loads first, then the tasks in their order. Every tensor has its own bytes, and every step its own workspace.
Plan naive_plan(const TaskGraph& graph, int64_t sub_batch);

}  // namespace plimsoll::test
