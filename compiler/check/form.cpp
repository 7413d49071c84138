// Checks that the plan is well-formed: existing ids, steps on the right streams, tensors with one producer, consistent
// rounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "compiler/check/verdict.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

bool lives_through_the_run(TensorKind kind) {
  return kind == TensorKind::weight || kind == TensorKind::optimizer_state || kind == TensorKind::statistic;
}

bool may_change_in_place(TensorKind kind) { return lives_through_the_run(kind) || kind == TensorKind::weight_gradient; }

bool holds(const std::vector<TensorId>& list, TensorId tensor) {
  return std::find(list.begin(), list.end(), tensor) != list.end();
}

StreamKind stream_of(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return StreamKind::compute;
    case StepKind::offload: return StreamKind::d2h;
    case StepKind::prefetch:
    case StepKind::load: return StreamKind::h2d;
    case StepKind::reduce: return StreamKind::comm;
  }
  return StreamKind::compute;
}

void check_rounds(const Plan& plan, Verdict& verdict) {
  if (plan.batch < 1 || plan.sub_batch < 1) {
    verdict.refuse(Rule::form, fmt::format("batch {} in sub-batches of {}", plan.batch, plan.sub_batch));
    return;
  }
  if (plan.ranks < 1 || plan.batch % plan.ranks != 0 || plan.sub_batch % plan.ranks != 0)
    verdict.refuse(Rule::form, fmt::format("batch {} in sub-batches of {} on {}", plan.batch, plan.sub_batch,
                                           counted(plan.ranks, "rank")));
  if (plan.sub_batch > plan.batch)
    verdict.refuse(Rule::form, fmt::format("a batch of {} in sub-batches of {}", plan.batch, plan.sub_batch));
  const int64_t rounds = plan.batch / plan.sub_batch + (plan.batch % plan.sub_batch != 0);
  const int64_t last = plan.batch - (rounds - 1) * plan.sub_batch;
  if (plan.rounds != rounds || plan.last_sub_batch != last)
    verdict.refuse(Rule::form,
                   fmt::format("batch {} in sub-batches of {} needs {}, the last of {}, not {}, the last of {}",
                               plan.batch, plan.sub_batch, counted(rounds, "round"), last,
                               counted(plan.rounds, "round"), plan.last_sub_batch));
}

void check_residence(const Plan& plan, TensorId id, Verdict& verdict) {
  const PlanTensor& tensor = plan.tensors[id];
  if (tensor.kind == TensorKind::weight_gradient) {
    // At the beginning of a round it holds the parts of earlier rounds; a sum over ranks has no such value.
    if (plan.rounds == 1 || plan.ranks > 1)
      verdict.refuse(Rule::form, {}, id,
                     fmt::format("{} resides in the host pool, which only gradients accumulated over several rounds of "
                                 "one rank may, but this is a "
                                 "plan of {} and {}",
                                 verdict.name(id), counted(plan.rounds, "round"), counted(plan.ranks, "rank")));
  } else if (tensor.kind != TensorKind::optimizer_state && tensor.kind != TensorKind::weight) {
    verdict.refuse(
        Rule::form, {}, id,
        fmt::format(
            "{} resides in the host pool and is of kind {}, neither weight nor optimizer_state nor weight_gradient",
            verdict.name(id), to_string(tensor.kind)));
  }
  if (tensor.persistent)
    verdict.refuse(Rule::form, {}, id,
                   fmt::format("{} resides in the host pool, but has a residency for the whole run", verdict.name(id)));
  if (!fits(tensor.home_offset, tensor.bytes))
    verdict.refuse(Rule::form, {}, id,
                   fmt::format("{} resides at offset {} of the host pool with {} bytes", verdict.name(id),
                               tensor.home_offset, tensor.bytes));
}

template <class List>
void check_names_of(const List& list, const char* what, Verdict& verdict) {
  std::unordered_set<std::string_view> known;
  known.reserve(list.size());
  for (const auto& each : list) {
    if (each.name.empty()) verdict.refuse(Rule::form, fmt::format("a {} has an empty name", what));
    else if (!known.insert(each.name).second)
      verdict.refuse(Rule::form, fmt::format("two {}s have the name {}", what, spelled(each.name)));
  }
}

// Times are predictions, and no other rule depends on them; but reports add them up.
void check_times(const Plan& plan, Verdict& verdict) {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (!is_time(step.start) || !is_time(step.end) || step.end < step.start)
      verdict.refuse(Rule::form, id, {}, fmt::format("step {} runs from {} s to {} s", id.value, step.start, step.end));
  }
  for (const TaskId id : ids_of(plan.fastest))
    if (!is_time(plan.fastest[id].seconds))
      verdict.refuse(Rule::form, fmt::format("the fastest algorithm of task {} takes {} s", verdict.name(id),
                                             plan.fastest[id].seconds));
  const PlanSummary& sum = plan.summary;
  for (const auto& [name, seconds] : {std::pair("recompute_seconds", sum.recompute_seconds),
                                      {"iteration_seconds", sum.iteration_seconds},
                                      {"unconstrained_seconds", sum.unconstrained_seconds},
                                      {"ideal_seconds", sum.ideal_seconds},
                                      {"bound_seconds", sum.bound_seconds},
                                      {"stall_seconds", sum.stall_seconds},
                                      {"reduce_seconds", sum.reduce_seconds},
                                      {"more_seconds", sum.more_seconds},
                                      {"planning_seconds", sum.planning_seconds}})
    if (!is_time(seconds)) verdict.refuse(Rule::form, fmt::format("{} is {}", name, seconds));
}

void check_tensors(const Plan& plan, Verdict& verdict) {
  for (TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& tensor = plan.tensors[id];
    if (tensor.bytes < 0)
      verdict.refuse(Rule::form, {}, id, fmt::format("{} has {} bytes", verdict.name(id), tensor.bytes));
    const bool accumulates = plan.rounds > 1 && tensor.kind == TensorKind::weight_gradient;
    if (accumulates && is_stated_type(tensor.reduced))
      verdict.refuse(Rule::form, {}, id,
                     fmt::format("{} add to {} in {}; sums are in f32", counted(plan.rounds, "round"), verdict.name(id),
                                 name_of(tensor.reduced)));
    if (tensor.at_home_on_host()) {
      check_residence(plan, id, verdict);
      continue;
    }
    if ((lives_through_the_run(tensor.kind) || accumulates) && !tensor.persistent)
      verdict.refuse(
          Rule::form, {}, id,
          fmt::format("{} is of kind {}, but has no residency for the whole run{}", verdict.name(id),
                      to_string(tensor.kind),
                      accumulates ? fmt::format(", although {} add to it", counted(plan.rounds, "round")) : ""));
    if (tensor.persistent && !may_change_in_place(tensor.kind))
      verdict.refuse(Rule::form, {}, id,
                     fmt::format("{} is persistent, but of kind {}, which lives for one round only", verdict.name(id),
                                 to_string(tensor.kind)));
  }
}

void check_tasks(const Plan& plan, Verdict& verdict) {
  IdVector<TensorId, TaskId> maker(plan.tensors.size());
  std::vector<TensorId> seen;
  for (TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    bool ids_ok = true;
    for (const auto* list : {&task.reads, &task.writes, &task.updates, &task.remembers})
      for (TensorId tensor : *list) ids_ok = ids_ok && plan.tensors.contains(tensor);
    for (const Task::InPlace& pair : task.in_place)
      ids_ok = ids_ok && plan.tensors.contains(pair.read) && plan.tensors.contains(pair.written);
    if (!ids_ok) {
      verdict.refuse(Rule::form, fmt::format("task {} names a tensor that does not exist", verdict.name(id)));
      continue;
    }
    seen.clear();
    for (const auto* list : {&task.reads, &task.writes, &task.updates})
      seen.insert(seen.end(), list->begin(), list->end());
    std::sort(seen.begin(), seen.end());
    const auto twice = std::adjacent_find(seen.begin(), seen.end());
    if (twice != seen.end())
      verdict.refuse(Rule::form, {}, *twice,
                     fmt::format("task {} lists {} twice among its operands", verdict.name(id),
                                 verdict.name(*twice)));
    for (TensorId tensor : task.writes) {
      const PlanTensor& written = plan.tensors[tensor];
      if (maker[tensor].valid())
        verdict.refuse(Rule::form, {}, tensor,
                       fmt::format("{} is written by two tasks, {} and {}", verdict.name(tensor),
                                   verdict.name(maker[tensor]), verdict.name(id)));
      else if (written.persistent || written.at_home_on_host() || written.kind == TensorKind::input)
        verdict.refuse(
            Rule::form, {}, tensor,
            fmt::format("task {} writes {}, which {}", verdict.name(id), verdict.name(tensor),
                        written.persistent || written.at_home_on_host() ? "is persistent and can only be updated"
                                                                        : "is an input"));
      maker[tensor] = id;
    }
    // A round without updates writes back only gradients, and fetches no optimizer state.
    for (TensorId tensor : task.updates)
      if (task.kind != TaskKind::update && plan.tensors[tensor].at_home_on_host() &&
          plan.tensors[tensor].kind != TensorKind::weight_gradient)
        verdict.refuse(
            Rule::form, {}, tensor,
            fmt::format(
                "task {} of kind {} changes {}, which resides in the host pool and may be changed by updates only",
                verdict.name(id), to_string(task.kind), verdict.name(tensor)));
    for (TensorId tensor : task.reads)
      if (task.kind != TaskKind::update && plan.tensors[tensor].at_home_on_host() &&
          plan.tensors[tensor].kind == TensorKind::optimizer_state)
        verdict.refuse(
            Rule::form, {}, tensor,
            fmt::format("task {} of kind {} reads {}, which resides in the host pool and is fetched for updates only",
                        verdict.name(id), to_string(task.kind), verdict.name(tensor)));
    // Some papers accumulate gradients in place; order and copies of such tensors are checked like those of a gradient.
    for (TensorId tensor : task.updates)
      if (plan.rules == "true" && !may_change_in_place(plan.tensors[tensor].kind))
        verdict.refuse(Rule::form, {}, tensor,
                       fmt::format("task {} updates {}, but a tensor of kind {} never changes", verdict.name(id),
                                   verdict.name(tensor), to_string(plan.tensors[tensor].kind)));
    for (TensorId tensor : task.remembers)
      if (task.kind != TaskKind::forward || !holds(task.writes, tensor))
        verdict.refuse(Rule::form, {}, tensor,
                       fmt::format("task {} saves {}, which {}", verdict.name(id), verdict.name(tensor),
                                   holds(task.writes, tensor) ? "only forward tasks may" : "it does not write"));
    for (const Task::InPlace& pair : task.in_place)
      if (!holds(task.reads, pair.read) || !holds(task.writes, pair.written))
        verdict.refuse(Rule::form, fmt::format("task {} allows {} on the bytes of {}, but does not read one and write "
                                               "the other",
                                               verdict.name(id), verdict.name(pair.written), verdict.name(pair.read)));
  }
  // Update tasks run only in the last round, so only other update tasks may read their outputs.
  if (plan.rounds > 1)
    for (const PlanTask& task : plan.tasks)
      for (TensorId tensor : task.reads)
        if (plan.tensors.contains(tensor) && maker[tensor].valid() && task.kind != TaskKind::update &&
            plan.tasks[maker[tensor]].kind == TaskKind::update)
          verdict.refuse(Rule::form, {}, tensor,
                         fmt::format("task {} reads {} of update task {}, which runs in the last round only",
                                     spelled(task.name), verdict.name(tensor), verdict.name(maker[tensor])));
}

// At the end of a round without updates, a host-resident gradient is in the host pool with all its parts. So it must
// have parts, and all of them come before the update tasks.
void check_parts(const Plan& plan, Verdict& verdict) {
  const auto on_host = [&](TensorId id) {
    return plan.tensors.contains(id) && plan.tensors[id].at_home_on_host() &&
           plan.tensors[id].kind == TensorKind::weight_gradient;
  };
  if (std::ranges::none_of(ids_of(plan.tensors), on_host)) return;
  IdVector<TensorId, TaskId> taken(plan.tensors.size()), added(plan.tensors.size());
  for (TaskId id : ids_of(plan.tasks)) {
    const bool update = plan.tasks[id].kind == TaskKind::update;
    for (const auto* list : {&plan.tasks[id].reads, &plan.tasks[id].updates})
      for (TensorId tensor : *list) {
        if (!on_host(tensor)) continue;
        if (update) {
          taken[tensor] = id;
          continue;
        }
        added[tensor] = id;
        if (taken[tensor].valid())
          verdict.refuse(Rule::form, {}, tensor,
                         fmt::format("task {} accesses {} after {}, which uses its sum", verdict.name(id),
                                     verdict.name(tensor), verdict.name(taken[tensor])));
      }
  }
  for (TensorId id : ids_of(plan.tensors))
    if (on_host(id) && !added[id].valid())
      verdict.refuse(Rule::form, {}, id,
                     fmt::format("{} resides in the host pool, but no task accumulates into it", verdict.name(id)));
}

// A bucket holds either gradients, reduced when they are complete, or results of the loss task, reduced in every round.
void check_bucket(const Plan& plan, StepId id, Verdict& verdict) {
  const Step& step = plan.steps[id];
  if (plan.ranks == 1)
    verdict.refuse(Rule::form, id, step.tensor,
                   fmt::format("{} reduces over ranks, but there is only one", verdict.name(id)));
  if (step.bucket.empty() || step.bucket.front() != step.tensor)
    verdict.refuse(Rule::form, id, step.tensor,
                   fmt::format("{} is not named after the first tensor of its bucket", verdict.name(id)));
  std::vector<TensorId> seen = step.bucket;
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    verdict.refuse(Rule::form, id, step.tensor,
                   fmt::format("the bucket of {} contains a tensor twice", verdict.name(id)));
  int64_t gradients = 0;
  for (TensorId tensor : step.bucket) {
    if (!plan.tensors.contains(tensor))
      return verdict.refuse(Rule::form, id, {}, fmt::format("{} names a tensor that does not exist", verdict.name(id)));
    gradients += plan.tensors[tensor].kind == TensorKind::weight_gradient;
    if (is_stated_type(plan.tensors[tensor].reduced))
      verdict.refuse(Rule::form, id, tensor,
                     fmt::format("{} adds up {} over the ranks in {}; sums are in f32", verdict.name(id),
                                 verdict.name(tensor), name_of(plan.tensors[tensor].reduced)));
    if (plan.tensors[tensor].kind != TensorKind::weight_gradient && plan.tensors[tensor].kind != TensorKind::activation)
      verdict.refuse(Rule::form, id, tensor,
                     fmt::format("{} reduces {} of kind {}, which is private to each rank", verdict.name(id),
                                 verdict.name(tensor), to_string(plan.tensors[tensor].kind)));
  }
  if (gradients != 0 && gradients != static_cast<int64_t>(step.bucket.size()))
    verdict.refuse(Rule::form, id, step.tensor,
                   fmt::format("the bucket of {} contains tensors other than gradients", verdict.name(id)));
}

// All rounds run a step, except for copies of tensors that reside in the host pool.
void check_rounds_of(const Plan& plan, StepId id, Verdict& verdict) {
  const Step& step = plan.steps[id];
  if (step.rounds == CopyRounds::all) return;
  const bool copies = step.kind == StepKind::offload || step.kind == StepKind::prefetch;
  if (!copies || !plan.tensors[step.tensor].at_home_on_host())
    return verdict.refuse(
        Rule::form, id, {},
        fmt::format("{} runs in rounds \"{}\", but only copies of a tensor that resides in the host pool may be left "
                    "out of a round",
                    verdict.name(id), to_string(step.rounds)));
  const StepKind kind = step.rounds == CopyRounds::all_but_first ? StepKind::prefetch : StepKind::offload;
  if (step.rounds != CopyRounds::last &&
      (step.kind != kind || plan.tensors[step.tensor].kind != TensorKind::weight_gradient))
    verdict.refuse(Rule::form, id, step.tensor,
                   fmt::format("{} runs in rounds \"{}\", which only the {} of a gradient may", verdict.name(id),
                               to_string(step.rounds), to_string(kind)));
}

void check_steps(const Plan& plan, Verdict& verdict) {
  for (StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    const bool computes = step.kind == StepKind::compute, reduces = step.kind == StepKind::reduce;
    if (computes ? !plan.tasks.contains(step.task) : !plan.tensors.contains(step.tensor)) {
      verdict.refuse(Rule::form, id, {},
                     fmt::format("step {} names a {} that does not exist", id.value, computes ? "task" : "tensor"));
      continue;
    }
    if (step.stream != stream_of(step.kind))
      verdict.refuse(Rule::form, id, {}, fmt::format("{} is on stream {}; expected {}", verdict.name(id),
                                                     to_string(step.stream), to_string(stream_of(step.kind))));
    for (StepId wait : step.waits) {
      if (!plan.steps.contains(wait) || wait >= id)
        verdict.refuse(Rule::form, id, {}, fmt::format("{}, step {}, waits for step {}, which does not precede it",
                                                       verdict.name(id), id.value, wait.value));
      else if (plan.steps[wait].stream == step.stream)
        verdict.refuse(Rule::form, id, {},
                       fmt::format("{} waits for {} on its own stream", verdict.name(id), verdict.name(wait)));
    }
    if (reduces) check_bucket(plan, id, verdict);
    if ((computes || reduces) && !fits(step.workspace.offset, step.workspace.bytes))
      verdict.refuse(Rule::form, id, {}, fmt::format("{} has a workspace of {} bytes at {}", verdict.name(id),
                                                     step.workspace.bytes, step.workspace.offset));
    if ((step.kind == StepKind::offload || step.kind == StepKind::prefetch) &&
        !fits(step.host_offset, plan.tensors[step.tensor].bytes))
      verdict.refuse(Rule::form, id, step.tensor, fmt::format("{} has no slot in the host pool", verdict.name(id)));
    check_rounds_of(plan, id, verdict);
    if (step.kind == StepKind::load && plan.tensors[step.tensor].kind != TensorKind::input)
      verdict.refuse(Rule::form, id, step.tensor,
                     fmt::format("{} loads a tensor of kind {}, not an input", verdict.name(id),
                                 to_string(plan.tensors[step.tensor].kind)));
    if (!computes && !reduces && plan.tensors[step.tensor].persistent)
      verdict.refuse(Rule::form, id, step.tensor,
                     fmt::format("{} copies a tensor that is resident for the whole run", verdict.name(id)));
  }
}

void check_residencies(const Plan& plan, Verdict& verdict) {
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (!plan.tensors.contains(residency.tensor)) {
      verdict.refuse(Rule::form, fmt::format("residency {} is of a tensor that does not exist", i));
    } else if (!fits(residency.offset, residency.bytes)) {
      verdict.refuse(Rule::form, {}, residency.tensor,
                     fmt::format("{} is at offset {} with {} bytes", verdict.name(residency.tensor), residency.offset,
                                 residency.bytes));
    }
  }
}

}  // namespace

void check_names(const Plan& plan, Verdict& verdict) {
  check_names_of(plan.tensors, "tensor", verdict);
  check_names_of(plan.tasks, "task", verdict);
}

void check_form(const Plan& plan, Verdict& verdict) {
  check_rounds(plan, verdict);
  check_times(plan, verdict);
  check_tensors(plan, verdict);
  check_tasks(plan, verdict);
  check_parts(plan, verdict);
  check_steps(plan, verdict);
  check_slices(plan, verdict);
  check_residencies(plan, verdict);
}

}  // namespace plimsoll
