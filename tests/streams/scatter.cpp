#include "scatter.h"

#include <random>

#include "passes/analysis/access.h"
#include "passes/analysis/choices.h"
#include "passes/conv_algorithm.h"
#include "passes/copy_rounds.h"
#include "passes/host_pool.h"
#include "passes/liveness.h"
#include "passes/needs.h"
#include "passes/order.h"
#include "passes/place.h"
#include "passes/seed_plan.h"
#include "passes/simulate.h"
#include "passes/summarize.h"
#include "passes/sync.h"

namespace plimsoll::test {
namespace {

class Scatter {
 public:
  Scatter(Plan& plan, const TaskGraph& graph, const ScatterOptions& options)
      : plan_(plan), graph_(graph), options_(options), random_(options.seed) {}

  void run() {
    find_uses();
    const size_t count = plan_.steps.size();
    before_.resize(count);
    after_.resize(count);
    for (const TensorId id : ids_of(plan_.tensors)) {
      const TensorKind kind = plan_.tensors[id].kind;
      const bool may_leave = kind == TensorKind::optimizer_state || kind == TensorKind::weight ||
                             (kind == TensorKind::weight_gradient && plan_.rounds > 1);
      if (may_leave && options_.homes > 0 && !uses_[id].empty()) home(id);
    }
    for (const TensorId id : ids_of(plan_.tensors)) {
      const TensorKind kind = plan_.tensors[id].kind;
      const bool never_changes = kind == TensorKind::activation || kind == TensorKind::activation_gradient ||
                                 kind == TensorKind::stash || kind == TensorKind::input;
      if (plan_.tensors[id].persistent || !never_changes || id == graph_.loss || id == graph_.correct) continue;
      for (size_t use = 0; use + 1 < uses_[id].size(); ++use) gap(id, uses_[id][use].value, uses_[id][use + 1].value);
    }
    IdVector<StepId, Step> steps;
    for (size_t i = 0; i < count; ++i) {
      for (Step& step : before_[i]) steps.push_back(std::move(step));
      steps.push_back(std::move(plan_.steps[StepId(static_cast<int32_t>(i))]));
      for (Step& step : after_[i]) steps.push_back(std::move(step));
    }
    plan_.steps = std::move(steps);
  }

 private:
  void find_uses() {
    uses_ = IdVector<TensorId, std::vector<StepId>>(plan_.tensors.size());
    producer_ = IdVector<TensorId, TaskId>(plan_.tensors.size());
    remembered_ = IdVector<TensorId, bool>(plan_.tensors.size(), false);
    for (const PlanTask& task : plan_.tasks)
      for (const TensorId tensor : task.remembers) remembered_[tensor] = true;
    updated_at_ = IdVector<TensorId, int32_t>(plan_.tensors.size(), static_cast<int32_t>(plan_.steps.size()));
    for (const StepId id : ids_of(plan_.steps)) {
      const Step& step = plan_.steps[id];
      for_each_access(plan_, step, [&](TensorId tensor, bool reads, bool writes) {
        if (uses_[tensor].empty() || uses_[tensor].back() != id) uses_[tensor].push_back(id);
        if (step.kind != StepKind::compute) return;
        if (writes && !reads) producer_[tensor] = step.task;
        if (writes && reads && plan_.tasks[step.task].kind == TaskKind::update)
          updated_at_[tensor] = std::min(updated_at_[tensor], id.value);
      });
    }
  }

  int draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

  void gap(TensorId tensor, int32_t from, int32_t to) {
    const int chance = draw(100);
    if (to - from < options_.shortest_gap || remembered_[tensor]) return;
    if (chance < options_.offload) offload(tensor, from, to);
    else if (chance < options_.offload + options_.recompute && may_recompute(tensor, to)) recompute(tensor, to);
  }

  void offload(TensorId tensor, int32_t from, int32_t to) {
    after_[static_cast<size_t>(from)].push_back(
        {.stream = StreamKind::d2h, .kind = StepKind::offload, .tensor = tensor});
    const int32_t ahead = std::min(draw(4), to - from - 1);  // issued that many steps before it is needed
    before_[static_cast<size_t>(to - ahead)].push_back(
        {.stream = StreamKind::h2d, .kind = StepKind::prefetch, .tensor = tensor});
  }

  void home(TensorId tensor) {
    if (draw(100) >= options_.homes) return;
    plan_.tensors.edit(tensor).persistent = false;
    plan_.tensors.edit(tensor).home_offset = 0;  // the pass host_pool says where
    const auto fetch = [&](int32_t at, int32_t earliest) {
      before_[static_cast<size_t>(std::max(earliest, at - draw(6)))].push_back(
          {.stream = StreamKind::h2d, .kind = StepKind::prefetch, .tensor = tensor});
    };
    const std::vector<StepId>& uses = uses_[tensor];
    fetch(uses.front().value, 0);
    if (plan_.tensors[tensor].kind == TensorKind::weight_gradient) return gradient(tensor, fetch);
    for (size_t use = 1; use < uses.size(); ++use)
      if (draw(3) != 0) fetch(uses[use].value, uses[use - 1].value + 1);  // it has left between the two
    const int32_t update = uses.back().value,
                  behind = std::min(update + draw(3), static_cast<int32_t>(plan_.steps.size()) - 1);
    if (updated_at_[tensor] == update)
      after_[static_cast<size_t>(behind)].push_back(
          {.stream = StreamKind::d2h, .kind = StepKind::offload, .tensor = tensor});
  }

  // It goes home behind what has changed it, where another use comes or the next round does.
  template <class Fetch>
  void gradient(TensorId tensor, Fetch fetch) {
    const std::vector<StepId>& uses = uses_[tensor];
    bool changed = false, added = false;  // since it was fetched last
    for (size_t use = 0; use < uses.size(); ++use) {
      const PlanTask& task = plan_.tasks[plan_.steps[uses[use]].task];
      const bool last = use + 1 == uses.size();
      changed = changed || std::find(task.updates.begin(), task.updates.end(), tensor) != task.updates.end();
      added = added || task.kind != TaskKind::update;
      if (!last && draw(3) == 0) continue;
      const int32_t here = uses[use].value, end = last ? static_cast<int32_t>(plan_.steps.size()) : uses[use + 1].value;
      const int32_t behind = std::min(here + draw(3), end - 1);
      if (changed && (added || !last))
        after_[static_cast<size_t>(behind)].push_back(
            {.stream = StreamKind::d2h, .kind = StepKind::offload, .tensor = tensor});
      if (last) return;
      fetch(end, behind + 1);
      changed = added = false;
    }
  }

  // Its task may run again and finds what it reads: a weight is the old one only before its update.
  bool may_recompute(TensorId tensor, int32_t at) const {
    const TaskId task = producer_[tensor];
    if (!task.valid() || plan_.tasks[task].kind != TaskKind::forward || !graph_.tasks[task].may_run_again) return false;
    for (const TensorId read : plan_.tasks[task].reads)
      if (updated_at_[read] < at || plan_.tensors[read].at_home_on_host()) return false;  // or away
    return true;
  }

  void recompute(TensorId tensor, int32_t at) {
    // In front of the prefetches there: what it writes beside `tensor` must not be where one of them brings it.
    auto& here = before_[static_cast<size_t>(at)];
    for (const Step& step : here)
      if (step.recompute && step.task == producer_[tensor]) return;
    here.insert(here.begin(), {.task = producer_[tensor], .recompute = true});
  }

  Plan& plan_;
  const TaskGraph& graph_;
  const ScatterOptions options_;
  std::mt19937_64 random_;
  IdVector<TensorId, std::vector<StepId>> uses_;
  IdVector<TensorId, TaskId> producer_;
  IdVector<TensorId, bool> remembered_;  // stays where it is: its task reads it when it is run again
  IdVector<TensorId, int32_t> updated_at_;
  std::vector<std::vector<Step>> before_, after_;
};

}  // namespace

Result<Plan> scattered_plan(const TaskGraph& graph, Costs& costs, const ScatterOptions& options) {
  Plan plan{.generator = "plimsoll test", .model_name = graph.name, .batch = options.batch, .target_kind = "host",
            .device = "cpu", .costs = "modelled", .policy = "scattered"};
  plan.sub_batch = options.sub_batch;
  plan.rounds = (options.batch + options.sub_batch - 1) / options.sub_batch;
  plan.last_sub_batch = options.batch - (plan.rounds - 1) * options.sub_batch;
  PLIMSOLL_TRY(costs.prepare(graph, plan.sub_batch));
  PLIMSOLL_TRY(costs.prepare(graph, plan.last_sub_batch));
  PLIMSOLL_ASSIGN(const Choices choices, find_choices(graph, costs, plan.sub_batch, plan.last_sub_batch));
  const Context context{.graph = graph, .choices = choices};
  PLIMSOLL_TRY(seed_plan(plan, context));
  PLIMSOLL_TRY(order(plan, context));
  Scatter(plan, graph, options).run();
  for (const auto pass :
       {copy_rounds, liveness, conv_algorithm, place, host_pool, sync, prune_waits, simulate, summarize, needs})
    PLIMSOLL_TRY(pass(plan, context));
  plan.budget_bytes = plan.summary.arena_bytes;
  plan.summary.minimum_bytes = plan.summary.unconstrained_bytes = plan.summary.arena_bytes;
  return plan;
}

}  // namespace plimsoll::test
