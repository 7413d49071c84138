#include "compiler/ir/plan.h"

#include <algorithm>

namespace plimsoll {

std::vector<TensorId> PlanTask::written(bool again) const {
  std::vector<TensorId> list = writes;
  if (again)
    std::erase_if(list, [&](TensorId tensor) {
      return std::find(remembers.begin(), remembers.end(), tensor) != remembers.end();
    });
  return list;
}

std::span<const WorkspaceNeed> Plan::needs_of(TaskId task) const {
  return needs.contains(task) ? std::span<const WorkspaceNeed>(needs[task]) : std::span<const WorkspaceNeed>();
}

const FastestAlgorithm& Plan::fastest_of(TaskId task) const {
  static const FastestAlgorithm none;
  return fastest.contains(task) ? fastest[task] : none;
}

void Plan::add_need(TaskId task, WorkspaceNeed need) {
  if (!needs.contains(task)) needs.resize(tasks.size());
  needs[task].push_back(std::move(need));
}

const WorkspaceNeed* Plan::need_of(const Step& step) const {
  const std::span<const WorkspaceNeed> listed = needs_of(step.task);
  const bool again = step.recompute && !tasks[step.task].remembers.empty();
  const auto found = std::find_if(listed.begin(), listed.end(), [&](const WorkspaceNeed& need) {
    return need.algorithm == step.algorithm && need.recompute == again;
  });
  return found == listed.end() ? nullptr : &*found;
}

std::string_view to_string(CopyRounds rounds) {
  switch (rounds) {
    case CopyRounds::all: return "all";
    case CopyRounds::last: return "last";
    case CopyRounds::all_but_first: return "all_but_first";
    case CopyRounds::all_but_last: return "all_but_last";
  }
  return "";
}

std::string_view to_string(StreamKind kind) {
  switch (kind) {
    case StreamKind::compute: return "compute";
    case StreamKind::d2h: return "d2h";
    case StreamKind::h2d: return "h2d";
    case StreamKind::comm: return "comm";
  }
  return "";
}

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return "compute";
    case StepKind::offload: return "offload";
    case StepKind::prefetch: return "prefetch";
    case StepKind::load: return "load";
    case StepKind::reduce: return "reduce";
  }
  return "";
}

}  // namespace plimsoll
