#include <algorithm>
#include <utility>

#include "passes/schedule/residences.h"

namespace plimsoll::schedule {
namespace {

// When an update comes.
class UpdateRule {
 public:
  UpdateRule(const Model& model, std::span<const ResidenceDecision> decisions) : model_(model), decisions_(decisions) {}

  bool comes_early(int32_t task) const {
    const auto early = [&](int32_t id) {
      return (tensor(id).update == task || tensor(id).adds_up()) && decision(id).on_host && decision(id).early;
    };
    const auto host_residents = model_.host_residents[task];
    return !model_.update_after[task].empty() && std::any_of(host_residents.begin(), host_residents.end(), early);
  }

  // For slices, unless a decision sets the time: each update waits until the links have had time for the copies of the
  // previous one.
  bool comes_in_turn(int32_t task) const {
    const auto host_residents = model_.host_residents[task];
    const auto mine = [&](int32_t id) { return tensor(id).always_on_host() && tensor(id).update == task; };
    const auto free = [&](int32_t id) { return !mine(id) || !decision(id).on_host; };
    return !model_.update_after[task].empty() && std::any_of(host_residents.begin(), host_residents.end(), mine) &&
           std::all_of(host_residents.begin(), host_residents.end(), free) && !comes_early(task);
  }

  // Seconds on the slower link for the tensors written back after the update.
  double seconds_of_copies(int32_t task) const {
    double seconds = 0;
    for (const int32_t id : model_.host_residents[task])
      if (tensor(id).update == task)
        seconds += model_.links.latency_seconds +
                   static_cast<double>(tensor(id).copy_bytes) /
                       std::min(model_.links.d2h_bytes_per_second, model_.links.h2d_bytes_per_second);
    return seconds;
  }

 private:
  const ResidenceDecision& decision(int32_t id) const { return decisions_[at(tensor(id).residence)]; }
  const ModelTensor& tensor(int32_t id) const { return model_.tensors[at(id)]; }

  const Model& model_;
  std::span<const ResidenceDecision> decisions_;
};

}  // namespace

void place_updates(const Model& model, std::span<const ResidenceDecision> decisions, Trace& trace) {
  const UpdateRule rule(model, decisions);
  std::vector<int32_t> moved;
  for (const int32_t task : model.early_updates)
    if (rule.comes_early(task) || rule.comes_in_turn(task)) moved.push_back(task);
  if (moved.empty()) return;
  const size_t size = trace.size();
  std::vector<int32_t> last(model.tasks.size(), -1);  // last step of each task
  for (size_t step = 0; step < size; ++step)
    if (trace[step].kind == StepKind::compute) last[at(trace[step].id)] = static_cast<int32_t>(step);
  const auto ready = [&](int32_t task) {
    int32_t step = 0;
    for (const int32_t other : model.update_after[task]) step = std::max(step, last[at(other)]);
    return step;
  };
  const std::vector<int32_t> places = last;  // before any move
  for (const int32_t task : moved) last[at(task)] = ready(task);
  std::stable_sort(moved.begin(), moved.end(), [&](int32_t a, int32_t b) { return last[at(a)] < last[at(b)]; });
  const std::vector<double> ends = ends_of_tasks(model, trace);
  double copied = 0;                                      // when the links have delivered the updates placed so far
  std::vector<std::vector<int32_t>> behind(size);         // of each step: updates that follow it
  std::vector<uint8_t> moves(model.tasks.size(), false);  // of each task: an update away from its place in the order
  for (const int32_t task : moved) {
    int32_t step = ready(task);
    if (rule.comes_in_turn(task)) {
      copied = std::max(copied, ends[at(step)]) + rule.seconds_of_copies(task);
      // No later than in the order: the next slice may be there.
      while (step + 1 < places[at(task)] && ends[at(step)] < copied) ++step;
    }
    moves[at(task)] = true;
    behind[at(step)].push_back(task);
    last[at(task)] = step;
  }
  const Trace input = std::exchange(trace, {});
  trace.reserve(size);
  for (size_t step = 0; step < size; ++step) {
    const Op& op = input[step];
    if (op.kind != StepKind::compute || !moves[at(op.id)]) trace.push_back(op);
    for (const int32_t task : behind[step]) trace.push_back({task, StepKind::compute});
  }
}

}  // namespace plimsoll::schedule
