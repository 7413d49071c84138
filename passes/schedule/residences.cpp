#include "passes/schedule/residences.h"

#include <algorithm>
#include <utility>

namespace plimsoll::schedule {
namespace {

// For an evicted gradient: the run of steps that access it after a fetch.
struct Stretch {
  int32_t last = -1;  // the last step so far
  // Some step adds to it; the last step is an update; some step clears it.
  bool added = false, update = false, cleared = false;
};

}  // namespace

std::vector<double> ends_of_tasks(const Model& model, const Trace& trace) {
  std::vector<double> ends;
  ends.reserve(trace.size());
  double now = 0;
  for (const Op& op : trace) {
    if (op.kind == StepKind::compute) now += model.algorithms_of(op.id, op.again).front().seconds;
    ends.push_back(now);
  }
  return ends;
}

std::vector<GradientCopy> find_gradient_copies(const Model& model, std::span<const ResidenceDecision> decisions,
                                               const Trace& trace) {
  const auto tensor = [&](int32_t id) -> const ModelTensor& { return model.tensors[at(id)]; };
  const auto decision = [&](int32_t id) -> const ResidenceDecision& { return decisions[at(tensor(id).residence)]; };
  std::vector<GradientCopy> copies;
  const auto offloaded = [&](int32_t id) { return tensor(id).adds_up() && decision(id).on_host; };
  if (std::none_of(model.all_host_residents.begin(), model.all_host_residents.end(), offloaded)) return copies;
  std::vector<Stretch> stretches(model.tensors.size());
  const auto ends = [&](int32_t id) {
    const Stretch& stretch = stretches[at(id)];
    if (stretch.added) copies.push_back({stretch.last, StepKind::offload, id});
  };
  for (int32_t step = 0; step < static_cast<int32_t>(trace.size()); ++step) {
    const Op& op = trace[at(step)];
    if (op.kind != StepKind::compute) continue;
    const bool update = model.tasks[at(op.id)].kind == TaskKind::update;
    for (const int32_t id : model.host_residents[op.id]) {
      if (!tensor(id).adds_up() || !decision(id).on_host) continue;
      Stretch& stretch = stretches[at(id)];
      const bool leaves =
          step - stretch.last > kNear && (decision(id).again || update != stretch.update) && !stretch.cleared;
      if (stretch.last < 0 || leaves) {
        ends(id);
        stretch = {};
        copies.push_back({step, StepKind::prefetch, id});
      }
      const auto updated = model.updated[op.id];
      stretch = {step, stretch.added || !update, update,
                 stretch.cleared || std::find(updated.begin(), updated.end(), id) != updated.end()};
    }
  }
  for (const int32_t id : model.all_host_residents) ends(id);
  std::stable_sort(copies.begin(), copies.end(), [](const GradientCopy& a, const GradientCopy& b) {
    return a.step != b.step ? a.step < b.step : a.kind == StepKind::prefetch && b.kind == StepKind::offload;
  });
  return copies;
}

void fetch_residences(const Model& model, std::span<const ResidenceDecision> decisions, Trace& trace) {
  const auto tensor = [&](int32_t id) -> const ModelTensor& { return model.tensors[at(id)]; };
  const auto decision = [&](int32_t id) -> const ResidenceDecision& { return decisions[at(tensor(id).residence)]; };
  const auto away = [&](int32_t id) { return tensor(id).always_on_host() || decision(id).on_host; };
  if (std::none_of(model.all_host_residents.begin(), model.all_host_residents.end(), away)) return;
  const std::vector<double> ends = ends_of_tasks(model, trace);
  // A refetch would take longer than the tasks in between, so the tensor stays.
  const auto soon = [&](int32_t id, int32_t touched, int32_t step) {
    const double between = ends[at(step) - 1] - ends[at(touched)];
    return between < static_cast<double>(tensor(id).copy_bytes) / model.links.h2d_bytes_per_second;
  };
  const std::vector<GradientCopy> gradients = find_gradient_copies(model, decisions, trace);
  const Trace input = std::exchange(trace, {});
  trace.reserve(2 * input.size());
  std::vector<int32_t> touched_at(model.tensors.size(),
                                  -1);  // of each evicted tensor: the last step that accessed it, or -1
  enum class Part { forward, backward, update };
  int32_t backward = kNever;  // first step of the backward
  size_t next = 0;
  for (int32_t step = 0; step < static_cast<int32_t>(input.size()); ++step) {
    const Op& op = input[at(step)];
    if (op.kind != StepKind::compute) {
      trace.push_back(op);
      continue;
    }
    const TaskKind kind = model.tasks[at(op.id)].kind;
    if (kind != TaskKind::forward && kind != TaskKind::loss) backward = std::min(backward, step);
    const auto part_at = [&](int32_t at) { return at < backward ? Part::forward : Part::backward; };
    const Part here = kind == TaskKind::update ? Part::update : part_at(step);
    const auto host_residents = model.host_residents[op.id];
    for (const int32_t id : host_residents) {
      if (!away(id)) continue;
      if (tensor(id).adds_up()) continue;
      int32_t& touched = touched_at[at(id)];
      if (touched < 0 ||
          (step - touched > kNear && (decision(id).again || (part_at(touched) != here && !soon(id, touched, step)))))
        trace.push_back({id, StepKind::prefetch});
      touched = step;
    }
    for (; next < gradients.size() && gradients[next].step == step && gradients[next].kind == StepKind::prefetch;
         ++next)
      trace.push_back({gradients[next].id, StepKind::prefetch});
    trace.push_back(op);
    for (; next < gradients.size() && gradients[next].step == step; ++next)
      trace.push_back({gradients[next].id, StepKind::offload});
    for (const int32_t id : host_residents)
      if (away(id) && tensor(id).update == op.id) trace.push_back({id, StepKind::offload});
  }
}

}  // namespace plimsoll::schedule
