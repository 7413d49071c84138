#include "passes/schedule/model.h"

#include <algorithm>
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

void find_host_residents(Model& model, const Plan& plan, const Context& context) {
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
    if (!context.policy.searches || !tensor.persistent || tensor.bytes == 0 || !roles.contains(tensor.kind)) continue;
    if (tensor.bytes >= all[tensor.kind] / kLittle) of(id).role = roles[tensor.kind];
  }
  // A slice is part of a tensor that resides in the host pool, so the whole resides there too.
  for (const TensorId id : ids_of(plan.tensors)) {
    const TensorId whole = plan.tensors[id].slice_of;
    if (!whole.valid()) continue;
    of(id).role = Role::slice;
    of(whole).role = Role::sliced;
  }
  for (const TaskId id : ids_of(plan.tasks)) {
    const bool update = plan.tasks[id].kind == TaskKind::update;
    for (const TensorId tensor : plan.tasks[id].updates) {
      if (of(tensor).adds_up()) continue;
      if (!update || of(tensor).update >= 0) stays(of(tensor));
      if (update) of(tensor).update = id.value;
    }
    for (const TensorId tensor : plan.tasks[id].reads)
      if (plan.tensors[tensor].kind == TensorKind::optimizer_state) stays(of(tensor));
  }
  std::vector<bool> touched(model.tensors.size(), false);
  std::vector<int32_t> list;
  for (const TaskId id : ids_of(plan.tasks)) {
    list.clear();
    for (const auto* tensors : {&plan.tasks[id].reads, &plan.tasks[id].updates})
      for (const TensorId tensor : *tensors)
        if (of(tensor).host_resident()) list.push_back(tensor.value);
    model.host_residents.add(list);
    for (const int32_t tensor : list) {
      touched[at(tensor)] = true;
      if (model.tensors[at(tensor)].update == id.value) model.all_host_residents.push_back(tensor);
    }
  }
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    ModelTensor& tensor = model.tensors[at(id)];
    // Tensors that no task accesses stay where they are.
    if (tensor.host_resident() && !touched[at(id)]) stays(tensor);
    if (!tensor.host_resident()) tensor.update = -1;
    else if (tensor.update < 0) model.all_host_residents.push_back(id);
  }
  for (size_t i = 0; i < model.all_host_residents.size(); ++i)
    model.tensors[at(model.all_host_residents[i])].residence = static_cast<int32_t>(i);
}

// The whole of state updated in slices resides in the host pool and is never on the device.
IdVector<TensorId, bool> never_on_device(const Plan& plan) {
  IdVector<TensorId, bool> never(plan.tensors.size(), false);
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.slice_of.valid()) never[tensor.slice_of] = true;
  for (const PlanTask& task : plan.tasks)
    for (const TensorId read : task.reads) never[read] = false;
  return never;
}

void copy_facts(Model& model, const Plan& plan, const Context& context) {
  model.tensors.resize(plan.tensors.size());
  const IdVector<TensorId, bool> never = never_on_device(plan);
  for (const TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& tensor = plan.tensors[id];
    ModelTensor& mine = model.tensors[at(id.value)];
    mine.bytes = never[id] ? 0 : align_up(tensor.bytes);
    mine.copy_bytes = never[id] ? 0 : tensor.bytes;
    if (tensor.persistent) mine.role = Role::on_device;
    mine.changed = plan.ranks > 1 && tensor.kind == TensorKind::weight_gradient;  // by its reduction
    if (tensor.persistent) model.persistent_bytes += mine.bytes;
  }
  for (const TensorId input : context.graph.inputs) model.tensors[at(input.value)].role = Role::input;
  for (const TensorId kept : kept_to_the_end(context.graph)) model.tensors[at(kept.value)].kept = true;

  std::vector<int32_t> list;
  const auto collect = [&](Lists& lists, const std::vector<TensorId>& tensors, bool persistent) {
    list.clear();
    for (const TensorId tensor : tensors)
      if (plan.tensors[tensor].persistent == persistent) list.push_back(tensor.value);
    lists.add(list);
  };
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    collect(model.reads, task.reads, false);
    collect(model.updates, task.updates, false);
    collect(model.writes, task.writes, false);
    collect(model.weights, task.reads, true);
    std::vector<TensorId> changed = task.kind == TaskKind::update ? task.updates : std::vector<TensorId>{};
    for (const TensorId tensor : task.updates)
      if (plan.tensors[tensor].slice_of.valid()) changed.push_back(plan.tensors[tensor].slice_of);
    collect(model.updated, changed, true);
    list.clear();
    for (const Task::InPlace& pair : task.in_place) {
      if (plan.tensors[pair.read].persistent || plan.tensors[pair.written].persistent) continue;
      list.push_back(pair.read.value);
      list.push_back(pair.written.value);
    }
    model.in_place.add(list);
    model.tasks.push_back(
        {.kind = task.kind, .recomputable = task.kind == TaskKind::forward && context.graph.tasks[id].may_run_again});
    for (const TensorId changed : task.updates) model.tensors[at(changed.value)].changed = true;
    for (const TensorId saved : task.remembers) model.tensors[at(saved.value)].saved = true;
    for (const TensorId written : task.writes) {
      ModelTensor& tensor = model.tensors[at(written.value)];
      tensor.producer = id.value;
      tensor.recomputable = model.tasks.back().recomputable;
    }
    model.first_algorithm.push_back(static_cast<int32_t>(model.algorithms.size()));
    const auto add = [&](const std::vector<Choice>& choices) {
      for (const Choice& choice : choices)
        model.algorithms.push_back({align_up(choice.workspace_bytes), choice.seconds, choice.last_seconds});
    };
    add(context.choices[id]);
    model.first_algorithm.push_back(static_cast<int32_t>(model.algorithms.size()));
    if (!task.remembers.empty()) add(context.choices.of(id, true));
  }
  model.first_algorithm.push_back(static_cast<int32_t>(model.algorithms.size()));
}

// With several ranks, updates stay where the order pass has put them, after their reductions.
void find_update_predecessors(Model& model, const Plan& plan) {
  const bool several = plan.rounds > 1 && plan.ranks == 1;
  IdVector<TensorId, std::vector<int32_t>> touched(plan.tensors.size());
  std::vector<int32_t> list;
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    list.clear();
    const bool movable = several && task.kind == TaskKind::update && !model.host_residents[id.value].empty();
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
void find_gaps(Model& model) {
  std::vector<int32_t> last(model.tensors.size(), -1);
  for (int32_t position = 0; position < static_cast<int32_t>(model.order.size()); ++position) {
    const Op& op = model.order[at(position)];
    const auto touch = [&](int32_t id, bool backward) {
      ModelTensor& tensor = model.tensors[at(id)];
      const int32_t before = std::exchange(last[at(id)], position);
      const int32_t longest = tensor.gap_end == kNever ? kNear : tensor.gap_end - tensor.gap_begin;
      const bool is_gap = made_forward(model, tensor) ? backward && tensor.gap_end == kNever
                                                      : before >= 0 && position - before > longest;
      if (!is_gap) return;
      tensor.gap_begin = before;
      tensor.gap_end = position;
    };
    if (op.kind != StepKind::compute) {
      touch(op.id, false);
      continue;
    }
    model.tasks[at(op.id)].position = position;
    const bool backward = !is_forward(model.tasks[at(op.id)].kind);
    for (const Lists* lists : {&model.reads, &model.updates, &model.writes})
      for (const int32_t id : (*lists)[op.id]) touch(id, backward);
  }
  std::vector<std::vector<int32_t>> begins(model.order.size());
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    ModelTensor& tensor = model.tensors[at(id)];
    if (tensor.changed) continue;
    const bool forward = made_forward(model, tensor);
    if (forward && tensor.gap_end == kNever) tensor.gap_begin = last[at(id)];
    tensor.movable = !tensor.persistent() && !tensor.kept && !tensor.saved && tensor.gap_begin >= 0;
    if (tensor.movable) begins[at(tensor.gap_begin)].push_back(id);
  }
  for (const std::vector<int32_t>& tensors : begins) model.gaps_at.add(tensors);
}

void find_uses(Model& model) {
  std::vector<std::vector<int32_t>> positions(model.tensors.size());
  for (int32_t position = 0; position < static_cast<int32_t>(model.order.size()); ++position)
    if (const Op& op = model.order[at(position)]; op.kind == StepKind::compute)
      for (const Lists* lists : {&model.reads, &model.updates})
        for (const int32_t id : (*lists)[op.id]) positions[at(id)].push_back(position);
  for (const std::vector<int32_t>& of_tensor : positions) model.used_at.add(of_tensor);
}

void find_reductions(Model& model, const Plan& plan, const Context& context) {
  model.ranks = plan.ranks;
  model.waits_for.assign(plan.tasks.size(), -1);
  std::vector<std::vector<int32_t>> behind(plan.tasks.size());
  if (plan.ranks > 1) {
    std::vector<TaskId> tasks;
    for (const Op& op : model.order)
      if (op.kind == StepKind::compute) tasks.push_back(TaskId(op.id));
    IdVector<TensorId, int32_t> sum(plan.tensors.size(), -1);
    for (const Bucket& bucket : find_buckets(plan, context, tasks)) {
      const auto number = static_cast<int32_t>(model.reductions.size());
      const int64_t bytes = bytes_of(plan, bucket.tensors);
      const bool gradients = plan.tensors[bucket.tensors.front()].kind == TensorKind::weight_gradient;
      model.reductions.push_back({reduction_seconds(context.links.ranks, plan.ranks, bytes), bytes, !gradients});
      behind[at(bucket.last.value)].push_back(number);
      for (const TensorId tensor : bucket.tensors) sum[tensor] = number;
    }
    for (const TaskId id : ids_of(plan.tasks)) {
      if (plan.tasks[id].kind != TaskKind::update) continue;
      int32_t& last = model.waits_for[at(id.value)];
      for (const auto* touched : {&plan.tasks[id].reads, &plan.tasks[id].updates})
        for (const TensorId tensor : *touched) last = std::max(last, sum[tensor]);
    }
  }
  for (const std::vector<int32_t>& reductions : behind) model.reduced_after.add(reductions);
}

}  // namespace

void Touched::add(std::span<const int32_t> reads, std::span<const int32_t> updates,
                  std::span<const int32_t> host_residents, std::span<const int32_t> in_place,
                  std::span<const int32_t> writes) {
  const auto append = [&](std::span<const int32_t> list) {
    const auto begin = static_cast<int32_t>(items_.size());
    items_.insert(items_.end(), list.begin(), list.end());
    return begin;
  };
  Bounds& bounds = bounds_.emplace_back();
  bounds.reads = append(reads);
  bounds.updates = append(updates);
  bounds.host_residents = append(host_residents);
  bounds.in_place = append(in_place);
  bounds.writes = append(writes);
  bounds.end = static_cast<int32_t>(items_.size());
}

Op as_op(const Step& step) {
  return {step.kind == StepKind::compute ? step.task.value : step.tensor.value, step.kind, step.recompute};
}

Step as_step(const Op& op) {
  Step step{.stream = stream_of(op.kind), .kind = op.kind, .recompute = op.again};
  if (op.kind == StepKind::compute) step.task = TaskId(op.id);
  else step.tensor = TensorId(op.id);
  return step;
}

Model make_model(const Plan& plan, const Context& context) {
  Model model;
  model.rounds = plan.rounds;
  model.last_share = static_cast<double>(plan.last_sub_batch) / static_cast<double>(plan.sub_batch);
  model.links = context.links;
  model.in_place_allowed = context.policy.in_place;
  for (const Step& step : plan.steps) model.order.push_back(as_op(step));
  copy_facts(model, plan, context);
  find_host_residents(model, plan, context);
  for (int32_t task = 0; task < static_cast<int32_t>(model.tasks.size()); ++task) {
    const auto in_place = model.in_place_allowed ? model.in_place[task] : std::span<const int32_t>{};
    model.touched.add(model.reads[task], model.updates[task], model.host_residents[task], in_place, model.writes[task]);
  }
  find_update_predecessors(model, plan);
  find_reductions(model, plan, context);
  find_gaps(model);
  find_uses(model);
  return model;
}

bool accesses(const Model& model, const Op& op, int32_t tensor) {
  if (op.kind != StepKind::compute) return op.id == tensor;
  for (const Lists* lists : {&model.reads, &model.updates, &model.writes})
    for (const int32_t id : (*lists)[op.id])
      if (id == tensor) return true;
  return false;
}

void put_steps(Plan& plan, const Program& program) {
  plan.steps = {};
  plan.steps.reserve(program.trace.size());
  const auto resides_on_host = [&](TensorId id) {
    if (!plan.tensors[id].persistent) return;
    plan.tensors.edit(id).persistent = false;
    plan.tensors.edit(id).home_offset = 0;  // passes/host_pool.h assigns the offset
  };
  for (const Op& op : program.trace) {
    plan.steps.push_back(as_step(op));
    if (op.kind == StepKind::prefetch || op.kind == StepKind::load) resides_on_host(TensorId(op.id));
  }
  for (size_t step = 0; step < program.waits.size(); ++step)
    for (const int32_t earlier : program.waits[step])
      plan.steps[StepId(static_cast<int64_t>(step))].waits.push_back(StepId(earlier));
  for (const TensorId id : ids_of(plan.tensors))
    if (const TensorId whole = plan.tensors[id].slice_of; whole.valid()) resides_on_host(whole);
}

}  // namespace plimsoll::schedule
