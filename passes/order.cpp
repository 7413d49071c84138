#include "passes/order.h"

#include <algorithm>
#include <future>
#include <utility>

#include "passes/analysis/liveness.h"
#include "passes/liveness.h"
#include "passes/order/orders.h"

namespace plimsoll {
namespace {

using task_orders::Dependencies;

struct OrderRow {
  OrderKind kind;
  std::vector<TaskId> (*tasks)(const Plan& plan, const TaskGraph& graph, const Dependencies& dependencies);
  bool early_loads;
  bool of_best = false;  // a candidate of OrderKind::best_of
};

constexpr OrderRow kOrders[] = {
    {OrderKind::depth_first, task_orders::depth_first, true, true},
    {OrderKind::low_peak, task_orders::low_peak, false, true},
    {OrderKind::arrivals, task_orders::arrivals, true},
};

// Either all loads first, where they overlap with the most, or each load as late as its first reader allows, where it
// costs the fewest bytes.
void make_steps(Plan& plan, const TaskGraph& graph, const std::vector<TaskId>& tasks, bool early_loads) {
  IdVector<TensorId, bool> to_load(plan.tensors.size(), false);
  for (const TensorId input : graph.inputs) to_load[input] = true;
  const auto load = [&](TensorId tensor) {
    if (!to_load[tensor]) return;
    to_load[tensor] = false;
    plan.steps.push_back({.stream = StreamKind::h2d, .kind = StepKind::load, .tensor = tensor});
  };
  plan.steps = {};
  plan.steps.reserve(tasks.size() + graph.inputs.size());
  if (early_loads)
    for (const TensorId input : graph.inputs) load(input);
  for (const TaskId task : tasks) {
    for (const TensorId tensor : plan.tasks[task].reads) load(tensor);
    plan.steps.push_back({.stream = StreamKind::compute, .kind = StepKind::compute, .task = task});
  }
  for (const TensorId input : graph.inputs) load(input);  // inputs without a reader
}

// The peak of the plan with its current steps. Changes the plan during the call and restores it.
int64_t peak_bytes(Plan& plan, const Context& context) {
  for (Step& step : plan.steps)
    if (step.kind == StepKind::compute) step.workspace.bytes = context.choices[step.task].back().workspace_bytes;
  PLIMSOLL_CHECK(liveness(plan, context).ok(), "residencies can always be found");
  const int64_t bytes = least_arena_bytes(plan, context);
  for (Step& step : plan.steps) step.workspace.bytes = 0;
  plan.residencies = {};
  return bytes;
}

// If waiting for reductions costs memory that is not available, updates run at once.
void order_tasks(Plan& plan, const Context& context, const Dependencies& dependencies, const OrderRow& row) {
  std::vector<TaskId> tasks = row.tasks(plan, context.graph, dependencies);
  PLIMSOLL_CHECK(tasks.size() == plan.tasks.size(), "the order of the task graph has a cycle");
  if (plan.rounds > 1) tasks = task_orders::updates_last(plan, std::move(tasks));
  if (context.policy.searches) tasks = task_orders::large_weights_at_once(plan, dependencies, std::move(tasks));
  if (plan.ranks == 1) return make_steps(plan, context.graph, tasks, row.early_loads);
  const auto make = [&](bool patient) {
    make_steps(plan, context.graph, task_orders::after_reductions(plan, context, dependencies, tasks, patient),
               row.early_loads);
  };
  make(true);
  if (context.live_limit == kNoLimit) return;
  const int64_t peak = peak_bytes(plan, context);
  auto patient = std::exchange(plan.steps, {});
  make(false);
  if (peak <= std::max(context.live_limit, peak_bytes(plan, context))) plan.steps = std::move(patient);
}

}  // namespace

// Of several candidates, the one with the lowest peak; the first on a tie.
Status order(Plan& plan, const Context& context) {
  struct Ordered {
    IdVector<StepId, Step> steps;
    int64_t peak = 0;
  };
  const Dependencies dependencies = task_orders::find_dependencies(plan);
  const bool best_of = context.policy.order == OrderKind::best_of;
  const auto ordered_by = [&](const OrderRow& row) {
    Plan own = plan;
    order_tasks(own, context, dependencies, row);
    const int64_t peak = best_of ? peak_bytes(own, context) : 0;
    return Ordered{std::move(own.steps), peak};
  };
  std::vector<std::future<Ordered>> all;
  for (const OrderRow& row : kOrders)
    if (best_of ? row.of_best : row.kind == context.policy.order)
      all.push_back(std::async(context.threads > 1 ? std::launch::async : std::launch::deferred, ordered_by, row));
  Ordered best{{}, kNoLimit};
  for (std::future<Ordered>& each : all)
    if (Ordered made = each.get(); made.peak < best.peak) best = std::move(made);
  plan.steps = std::move(best.steps);
  return {};
}

}  // namespace plimsoll
