// Checks that slices cover the tensors that they are parts of, and that tasks access them instead of their wholes.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/check/verdict.h"

namespace plimsoll {
namespace {

bool has_slices(const Plan& plan) {
  return std::ranges::any_of(plan.tensors, [](const PlanTensor& tensor) { return tensor.slice_of.valid(); });
}

// A slice is part of its whole's host residence. The slices of a whole cover it exactly, without overlap.
void check_wholes(const Plan& plan, Verdict& verdict) {
  IdVector<TensorId, std::vector<TensorId>> slices(plan.tensors.size());
  for (TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& slice = plan.tensors[id];
    if (!slice.slice_of.valid()) continue;
    if (!plan.tensors.contains(slice.slice_of) || plan.tensors[slice.slice_of].slice_of.valid()) {
      verdict.refuse(
          Rule::form, {}, id,
          fmt::format("{} is a slice of a tensor that does not exist or is itself a slice", verdict.name(id)));
      continue;
    }
    const PlanTensor& whole = plan.tensors[slice.slice_of];
    slices[slice.slice_of].push_back(id);
    if (slice.kind != whole.kind)
      verdict.refuse(Rule::form, {}, id,
                     fmt::format("{} is of kind {}, but a slice of {} of kind {}", verdict.name(id),
                                 to_string(slice.kind), verdict.name(slice.slice_of), to_string(whole.kind)));
    if (!slice.at_home_on_host() || !whole.at_home_on_host() || !fits(whole.home_offset, slice.slice_begin) ||
        slice.home_offset != whole.home_offset + slice.slice_begin)
      verdict.refuse(
          Rule::form, {}, id,
          fmt::format("{} is the slice of {} from byte {} on, but resides at {} while that tensor resides at {}",
                      verdict.name(id), verdict.name(slice.slice_of), slice.slice_begin, slice.home_offset,
                      whole.home_offset));
  }
  for (TensorId whole : ids_of(plan.tensors)) {
    std::vector<TensorId>& parts = slices[whole];
    if (parts.empty()) continue;
    std::stable_sort(parts.begin(), parts.end(),
                     [&](TensorId a, TensorId b) { return plan.tensors[a].slice_begin < plan.tensors[b].slice_begin; });
    int64_t covered = 0;
    for (TensorId part : parts) {
      if (plan.tensors[part].slice_begin != covered) break;
      covered = fits(covered, plan.tensors[part].bytes) ? covered + plan.tensors[part].bytes : -1;
    }
    if (covered != plan.tensors[whole].bytes || plan.tensors[parts.back()].slice_begin >= plan.tensors[whole].bytes)
      verdict.refuse(Rule::form, {}, whole,
                     fmt::format("the slices of {} do not cover its {} bytes exactly once", verdict.name(whole),
                                 plan.tensors[whole].bytes));
  }
}

// Tasks read a whole before its slices are updated, and update it only through its slices. Writing back the whole would
// undo the updates of its slices.
void check_uses_of_slices(const Plan& plan, Verdict& verdict) {
  IdVector<TensorId, TensorId> first_slice(plan.tensors.size());
  for (TensorId id : ids_of(plan.tensors))
    if (const TensorId whole = plan.tensors[id].slice_of; plan.tensors.contains(whole) && !first_slice[whole].valid())
      first_slice[whole] = id;
  IdVector<TensorId, TaskId> updated(plan.tensors.size());  // of a whole: the first task that changes one of its slices
  for (TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    for (TensorId tensor : task.updates) {
      if (!plan.tensors.contains(tensor)) continue;
      if (first_slice[tensor].valid())
        verdict.refuse(Rule::form, {}, tensor,
                       fmt::format("task {} updates {} as a whole, but it is updated in slices", verdict.name(id),
                                   verdict.name(tensor)));
      if (const TensorId whole = plan.tensors[tensor].slice_of; plan.tensors.contains(whole) && !updated[whole].valid())
        updated[whole] = id;
    }
    for (TensorId tensor : task.reads) {
      if (!plan.tensors.contains(tensor)) continue;
      if (updated[tensor].valid())
        verdict.refuse(Rule::form, {}, tensor,
                       fmt::format("task {} reads {} after {}, which updates a slice of it", verdict.name(id),
                                   verdict.name(tensor), verdict.name(updated[tensor])));
      if (plan.tensors[tensor].slice_of.valid() && task.kind != TaskKind::update)
        verdict.refuse(Rule::form, {}, tensor,
                       fmt::format("task {} of kind {} reads {}, a slice, which only updates may read",
                                   verdict.name(id), to_string(task.kind), verdict.name(tensor)));
    }
  }
  for (StepId id : ids_of(plan.steps))
    if (const TensorId tensor = plan.steps[id].tensor;
        plan.steps[id].kind == StepKind::offload && plan.tensors.contains(tensor) && first_slice[tensor].valid())
      verdict.refuse(Rule::form, id, tensor,
                     fmt::format("{} writes {} back to the host pool, but its slices are written back",
                                 verdict.name(id), verdict.name(tensor)));
}

}  // namespace

void check_slices(const Plan& plan, Verdict& verdict) {
  if (!has_slices(plan)) return;
  check_wholes(plan, verdict);
  check_uses_of_slices(plan, verdict);
}

}  // namespace plimsoll
