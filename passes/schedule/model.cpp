#include "passes/schedule/model.h"

#include <map>
#include <utility>

#include "compiler/support/bytes.h"
#include "passes/analysis/access.h"
#include "passes/analysis/buckets.h"
#include "passes/analysis/liveness.h"

namespace plimsoll::schedule {
namespace {

// Tensors that may reside in the host pool: weights and optimizer state that exactly one update task changes, or none;
// state that no other task accesses; and, with one rank, gradients that accumulate over rounds. The policies of the
// literature leave all of them on the device. A tensor below 1/1024 of all bytes of its kind is not worth its copies.
constexpr int64_t kLittle = 1024;
// If all activations are more than this many times the gradients, gradients stay on the device: including them takes up
// to twice the search time, and plans are slower as often as faster (docs/decisions/accumulation.md). None of this
// depends on the budget, so a larger budget never gives a slower plan.
constexpr int64_t kActivationFactor = 8;

void find_roles(Model& model, const Plan& plan, const Context& context) {
  const auto of = [&](TensorId tensor) -> ModelTensor& { return model.tensors[at(tensor.value)]; };
  const auto stays = [](ModelTensor& tensor) {
    if (tensor.host_resident()) tensor.role = tensor.always_on_host() ? Role::never_here : Role::on_device;
  };
  std::map<TensorKind, int64_t> all;
  for (const PlanTensor& tensor : plan.tensors) all[tensor.kind] += tensor.bytes;
  std::map<TensorKind, Role> roles = {{TensorKind::weight, Role::weight}, {TensorKind::optimizer_state, Role::state}};
  if (plan.ranks == 1 && all[TensorKind::activation] <= kActivationFactor * all[TensorKind::weight_gradient])
    roles[TensorKind::weight_gradient] = Role::gradient_sum;
  for (const TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& tensor = plan.tensors[id];
    if (!tensor.persistent) continue;
    const bool may_leave = context.policy.searches && tensor.bytes > 0 && roles.contains(tensor.kind) &&
                           tensor.bytes >= all[tensor.kind] / kLittle;
    of(id).role = may_leave ? roles[tensor.kind] : Role::on_device;
  }
  for (const TensorId input : context.graph.inputs) of(input).role = Role::input;
  // A slice is part of a tensor that resides in the host pool, so the whole resides there too.
  for (const TensorId id : ids_of(plan.tensors)) {
    const TensorId whole = plan.tensors[id].slice_of;
    if (!whole.valid()) continue;
    of(id).role = Role::slice;
    of(whole).role = Role::sliced;
  }
  std::vector<bool> accessed(model.tensors.size(), false);
  for (const TaskId id : ids_of(plan.tasks)) {
    const bool update = plan.tasks[id].kind == TaskKind::update;
    for (const TensorId tensor : plan.tasks[id].updates) {
      accessed[at(tensor.value)] = true;
      if (of(tensor).adds_up()) continue;
      if (!update || of(tensor).update >= 0) stays(of(tensor));
      if (update) of(tensor).update = id.value;
    }
    for (const TensorId tensor : plan.tasks[id].reads) {
      accessed[at(tensor.value)] = true;
      if (plan.tensors[tensor].kind == TensorKind::optimizer_state) stays(of(tensor));
    }
  }
  // Tensors that no task accesses stay where they are.
  for (size_t id = 0; id < accessed.size(); ++id) {
    ModelTensor& tensor = model.tensors[id];
    if (!accessed[id]) stays(tensor);
    if (!tensor.host_resident()) tensor.update = -1;
  }
}

void add_tensors(Model& model, const Plan& plan, const Context& context) {
  model.tensors.resize(plan.tensors.size());
  find_roles(model, plan, context);
  for (const TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& tensor = plan.tensors[id];
    ModelTensor& mine = model.tensors[at(id.value)];
    mine.changed = plan.ranks > 1 && tensor.kind == TensorKind::weight_gradient;  // by its reduction
    if (mine.role == Role::never_here) continue;                                  // it takes no bytes
    mine.bytes = align_up(tensor.bytes);
    mine.copy_bytes = tensor.bytes;
    if (mine.persistent()) model.persistent_bytes += mine.bytes;
  }
  for (const TensorId kept : kept_to_the_end(context.graph)) model.tensors[at(kept.value)].is_result = true;
}

void add_tasks(Model& model, const Plan& plan, const Context& context) {
  std::vector<int32_t> list;
  const auto collect = [&](std::initializer_list<const std::vector<TensorId>*> lists, auto belongs) {
    list.clear();
    for (const auto* tensors : lists)
      for (const TensorId tensor : *tensors)
        if (belongs(tensor)) list.push_back(tensor.value);
    return std::span<const int32_t>(list);
  };
  const auto persistent = [&](TensorId tensor) { return plan.tensors[tensor].persistent; };
  const auto transient = [&](TensorId tensor) { return !plan.tensors[tensor].persistent; };
  const auto host_resident = [&](TensorId tensor) { return model.tensors[at(tensor.value)].host_resident(); };
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    for (const auto* tensors : {&task.reads, &task.updates, &task.writes})
      model.accesses.add(collect({tensors}, transient));
    model.accesses.add(collect({&task.reads, &task.updates}, host_resident));
    for (const int32_t tensor : list)
      if (model.tensors[at(tensor)].update == id.value) model.all_host_residents.push_back(tensor);
    list.clear();
    for (const Task::InPlace& pair : task.in_place)
      if (context.policy.in_place && transient(pair.read) && transient(pair.written))
        list.insert(list.end(), {pair.read.value, pair.written.value});
    model.accesses.add(list);
    model.weights.add(collect({&task.reads}, persistent));
    std::vector<TensorId> changed = task.kind == TaskKind::update ? task.updates : std::vector<TensorId>{};
    for (const TensorId tensor : task.updates)
      if (plan.tensors[tensor].slice_of.valid()) changed.push_back(plan.tensors[tensor].slice_of);
    model.updated.add(collect({&changed}, persistent));
    model.tasks.push_back(
        {.kind = task.kind, .recomputable = task.kind == TaskKind::forward && context.graph.tasks[id].may_run_again});
    for (const TensorId changed : task.updates) model.tensors[at(changed.value)].changed = true;
    for (const TensorId saved : task.remembers) model.tensors[at(saved.value)].saved = true;
    for (const TensorId written : task.writes) {
      ModelTensor& tensor = model.tensors[at(written.value)];
      tensor.producer = id.value;
      tensor.recomputable = model.tasks.back().recomputable;
    }
    for (const bool again : {false, true}) {
      std::vector<Algorithm> algorithms;
      if (!again || !task.remembers.empty())
        for (const Choice& choice : context.choices.of(id, again))
          algorithms.push_back({align_up(choice.workspace_bytes), choice.seconds, choice.last_seconds});
      model.algorithms.add(algorithms);
    }
  }
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id)
    if (model.tensors[at(id)].host_resident() && model.tensors[at(id)].update < 0)
      model.all_host_residents.push_back(id);
  for (size_t i = 0; i < model.all_host_residents.size(); ++i)
    model.tensors[at(model.all_host_residents[i])].residence = static_cast<int32_t>(i);
}

// With one round, or with several ranks, updates stay where the order pass has put them.
void find_update_predecessors(Model& model, const Plan& plan) {
  if (plan.rounds == 1 || plan.ranks > 1) {
    model.update_after = Lists(plan.tasks.size(), {});
    return;
  }
  IdVector<TensorId, std::vector<int32_t>> touched(plan.tensors.size());
  std::vector<int32_t> list;
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    list.clear();
    const bool movable = task.kind == TaskKind::update && !model.host_residents(id.value).empty();
    for (const auto* tensors : {&task.reads, &task.updates, &task.writes})
      for (const TensorId each : *tensors) {
        const TensorId whole = plan.tensors[each].slice_of, tensor = whole.valid() ? whole : each;
        if (movable) list.insert(list.end(), touched[tensor].begin(), touched[tensor].end());
        touched[tensor].push_back(id.value);
      }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    model.update_after.add(list);
    if (!list.empty()) model.early_updates.push_back(id.value);
  }
}

bool made_forward(const Model& model, const ModelTensor& tensor) {
  return tensor.input() || (tensor.producer >= 0 && is_forward(model.tasks[at(tensor.producer)].kind));
}

// For a tensor made in the forward, the gap lies between forward and backward. For a gradient, it is the longest
// interval between two accesses.
void find_gaps_and_uses(Model& model) {
  std::vector<int32_t> last(model.tensors.size(), -1);
  std::vector<std::pair<int32_t, int32_t>> uses;
  for (int32_t position = 0; position < static_cast<int32_t>(model.order.size()); ++position) {
    const Op& op = model.order[at(position)];
    const auto touch = [&](int32_t id, bool backward) {
      ModelTensor& tensor = model.tensors[at(id)];
      const int32_t before = std::exchange(last[at(id)], position);
      if (before < 0) tensor.made = position;
      const int32_t longest = tensor.gap_end == kNever ? kNear : tensor.gap_end - tensor.gap_begin;
      const bool is_gap = made_forward(model, tensor) ? backward && tensor.gap_end == kNever
                                                      : before >= 0 && position - before > longest;
      if (!is_gap) return;
      tensor.gap_begin = before;
      tensor.gap_end = position;
    };
    if (!op.is_task()) {
      touch(op.id, false);
      continue;
    }
    model.tasks[at(op.id)].position = position;
    const bool backward = !is_forward(model.tasks[at(op.id)].kind);
    for (const int32_t id : model.transient(op.id)) touch(id, backward);
    for (const int32_t id : model.reads_and_updates(op.id)) uses.emplace_back(id, position);
  }
  model.used_at = Lists(model.tensors.size(), uses);
  std::vector<std::pair<int32_t, int32_t>> begins;
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    ModelTensor& tensor = model.tensors[at(id)];
    if (tensor.changed) continue;
    const bool forward = made_forward(model, tensor);
    if (forward && tensor.gap_end == kNever) tensor.gap_begin = last[at(id)];
    tensor.movable = !tensor.persistent() && !tensor.is_result && !tensor.saved && tensor.gap_begin >= 0;
    if (tensor.movable) begins.emplace_back(tensor.gap_begin, id);
  }
  model.gaps_at = Lists(model.order.size(), begins);
}

void find_reductions(Model& model, const Plan& plan, const Context& context) {
  model.waits_for.assign(plan.tasks.size(), -1);
  std::vector<std::pair<int32_t, int32_t>> after;
  std::vector<TaskId> tasks;
  for (const Op& op : model.order)
    if (op.is_task()) tasks.push_back(TaskId(op.id));
  IdVector<TensorId, int32_t> sum(plan.tensors.size(), -1);
  for (const Bucket& bucket : find_buckets(plan, context, tasks)) {
    const auto number = static_cast<int32_t>(model.reductions.size());
    const int64_t bytes = bytes_of(plan, bucket.tensors);
    const bool gradients = plan.tensors[bucket.tensors.front()].kind == TensorKind::weight_gradient;
    model.reductions.push_back({reduction_seconds(context.links.ranks, plan.ranks, bytes), bytes, !gradients});
    after.emplace_back(bucket.last.value, number);
    for (const TensorId tensor : bucket.tensors) sum[tensor] = number;
  }
  for (const TaskId id : ids_of(plan.tasks)) {
    if (plan.tasks[id].kind != TaskKind::update) continue;
    int32_t& last = model.waits_for[at(id.value)];
    for (const auto* touched : {&plan.tasks[id].reads, &plan.tasks[id].updates})
      for (const TensorId tensor : *touched) last = std::max(last, sum[tensor]);
  }
  model.reduced_after = Lists(plan.tasks.size(), after);
}

}  // namespace

Op as_op(const Step& step) {
  return {step.kind == StepKind::compute ? step.task.value : step.tensor.value, step.kind, step.recompute};
}

Step as_step(const Op& op) {
  Step step{.stream = stream_of(op.kind), .kind = op.kind, .recompute = op.again};
  if (op.is_task()) step.task = TaskId(op.id);
  else step.tensor = TensorId(op.id);
  return step;
}

Model make_model(const Plan& plan, const Context& context) {
  Model model;
  model.rounds = plan.rounds;
  model.ranks = plan.ranks;
  model.last_share = static_cast<double>(plan.last_sub_batch) / static_cast<double>(plan.sub_batch);
  model.links = context.links;
  for (const Step& step : plan.steps) model.order.push_back(as_op(step));
  add_tensors(model, plan, context);
  add_tasks(model, plan, context);
  find_update_predecessors(model, plan);
  if (plan.ranks > 1) find_reductions(model, plan, context);
  find_gaps_and_uses(model);
  return model;
}

}  // namespace plimsoll::schedule
