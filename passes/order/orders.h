// The orders of the tasks, one file each. The pass order (passes/order.h) chooses among them.
#pragma once

#include <vector>

#include "passes/analysis/grouped.h"
#include "passes/context.h"

namespace plimsoll::task_orders {

// Dependencies between tasks, from the order of accesses in the graph. A reader follows the last change. A change
// follows the previous change and every reader since.
struct Dependencies {
  Grouped<TaskId, TaskId> after;   // tasks that depend on this one; one entry per dependence
  IdVector<TaskId, int32_t> open;  // dependences not yet satisfied
};

Dependencies find_dependencies(const Plan& plan);

inline bool is_update(const Plan& plan, TaskId task) { return plan.tasks[task].kind == TaskKind::update; }

// Moves all updates to the end, in their order.
std::vector<TaskId> updates_last(const Plan& plan, std::vector<TaskId> tasks);

// Orders of all tasks. With several rounds, the pass puts updates last.
//
// The graph's order, with every update right after the last task that it depends on.
std::vector<TaskId> depth_first(const Plan& plan, const TaskGraph& graph, const Dependencies& dependencies);
// List scheduling that lowers the peak of live bytes.
std::vector<TaskId> low_peak(const Plan& plan, const TaskGraph& graph, const Dependencies& dependencies);
// Dymem's Algorithm 1.
std::vector<TaskId> arrivals(const Plan& plan, const TaskGraph& graph, const Dependencies& dependencies);

// Rewrites of an order.
//
// With several ranks, an update waits for the reduction of its gradient. So it is placed after tasks that run during
// the reduction.
//
//   compute  | dw3 | dx3 | dw2 | dx2 | update 3 |  …          not: | dw3 | (waits) | update 3 | dx3 | …
//   comm           |   reduce dw3    |
//
// `patient`: updates are delayed by the predicted time of the reduction, and gradients stay alive for that long. If
// false, updates are placed right after the last task of the bucket. Updates at the same place stay in the graph's
// order.
std::vector<TaskId> after_reductions(const Plan& plan, const Context& context, const Dependencies& dependencies,
                                     const std::vector<TaskId>& tasks, bool patient);

// For a layer whose activations are small compared with its weights: runs its backward-data before its
// backward-weights, if dependences permit. The weight's last reads are then close together. If weight and gradient
// reside in the host pool, the weight can leave the device before its gradient arrives. The cost is that the
// activations of both tasks may be live at once.
//
//   graph   fc.backward_weights  fc.backward_data      weight | gradient, weight |         here   weight | gradient |
std::vector<TaskId> large_weights_at_once(const Plan& plan, const Dependencies& dependencies,
                                          std::vector<TaskId> tasks);

}  // namespace plimsoll::task_orders
