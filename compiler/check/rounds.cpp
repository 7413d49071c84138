#include "compiler/check/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// A kind of round. All rounds between the first and the last do the same.
struct Played {
  int64_t index = 0;  // of the first such round
  bool first = false, last = false;
};

// A value is the number of updates that it includes, over all rounds since it was zero (a gradient) or since the
// iteration began (all others). Absent: no value of the tensor.
using Value = std::optional<int64_t>;

bool is_run(CopyRounds rounds, const Played& round) {
  switch (rounds) {
    case CopyRounds::all: return true;
    case CopyRounds::last: return round.last;
    case CopyRounds::all_but_first: return !round.first;
    case CopyRounds::all_but_last: return !round.last;
  }
  return false;
}

class RoundOfCopies {
 public:
  RoundOfCopies(const Plan& plan, const IdVector<TensorId, std::vector<TaskId>>& updaters, Played round,
                Verdict& verdict)
      : plan_(plan), updaters_(updaters), round_(round), verdict_(verdict), states_(plan.tensors.size()) {}

  void play() {
    for (const TensorId id : ids_of(plan_.tensors))
      if (resides(id) && !(is_gradient(id) && round_.first)) states_[id].slot = before(id);
    for (const StepId id : ids_of(plan_.steps)) {
      const Step& step = plan_.steps[id];
      if (step.kind == StepKind::compute) compute(id);
      else if (step.kind == StepKind::prefetch && resides(step.tensor)) fetch(id);
      else if (step.kind == StepKind::offload && resides(step.tensor)) store(id);
    }
    for (const TensorId id : ids_of(plan_.tensors))
      if (resides(id)) end(id);
  }

 private:
  struct State {
    Value device, slot;
    StepId fetched = {}, stored = {};  // the last that this round runs
    bool used = true;                  // a task has accessed what was fetched last
    bool slot_used = true;             // a fetch has read what was stored last
  };

  bool resides(TensorId id) const { return plan_.tensors[id].at_home_on_host(); }
  bool is_gradient(TensorId id) const { return plan_.tensors[id].kind == TensorKind::weight_gradient; }

  // A part is what a task other than an update adds.
  int64_t parts(TensorId id) const {
    return std::count_if(updaters_[id].begin(), updaters_[id].end(),
                         [&](TaskId task) { return plan_.tasks[task].kind != TaskKind::update; });
  }
  // The value when this round begins.
  int64_t before(TensorId id) const { return is_gradient(id) ? round_.index * parts(id) : 0; }

  std::string when() const {
    return plan_.rounds == 1 ? ""
           : round_.first    ? " in the first round"
           : round_.last     ? " in the last round"
                             : " in the rounds in between";
  }

  void fetch(StepId id) {
    State& state = states_[plan_.steps[id].tensor];
    const CopyRounds rounds = plan_.steps[id].rounds;
    expect_use(plan_.steps[id].tensor);
    const bool zeros = rounds == CopyRounds::all_but_first && round_.first;
    state.device = zeros ? Value(0) : std::nullopt;
    state.fetched = {};
    state.used = true;
    if (!is_run(rounds, round_)) return;
    state.device = state.slot;
    state.fetched = id;
    state.used = false;
    state.slot_used = true;
  }

  void store(StepId id) {
    const TensorId tensor = plan_.steps[id].tensor;
    State& state = states_[tensor];
    if (!is_run(plan_.steps[id].rounds, round_)) return;
    state.used = true;
    if (!state.device)
      return verdict_.refuse(Rule::host_slot, id, tensor,
                             fmt::format("{} writes {} back{}, which has no value on the device then",
                                         verdict_.name(id), verdict_.name(tensor), when()));
    if (state.slot == state.device)
      verdict_.refuse(Rule::host_slot, id, tensor,
                      fmt::format("{} writes {} back{}, although it has not changed", verdict_.name(id),
                                  verdict_.name(tensor), when()));
    state.slot = state.device;
    state.stored = id;
    state.slot_used = false;
  }

  void compute(StepId id) {
    const Step& step = plan_.steps[id];
    const PlanTask& task = plan_.tasks[step.task];
    if (task.kind == TaskKind::update && !round_.last) return;
    for (const TensorId tensor : task.reads)
      if (resides(tensor)) access(id, tensor, false);
    if (step.recompute) return;
    for (const TensorId tensor : task.updates)
      if (resides(tensor)) access(id, tensor, true);
  }

  void access(StepId id, TensorId tensor, bool updates) {
    State& state = states_[tensor];
    const std::vector<TaskId>& updaters = updaters_[tensor];
    const int64_t own = std::lower_bound(updaters.begin(), updaters.end(), plan_.steps[id].task) - updaters.begin();
    const int64_t base = before(tensor), wanted = base + own;
    state.used = true;
    if (!state.device)
      verdict_.refuse(Rule::current, id, tensor,
                      fmt::format("{} accesses {}{}, of which no copy has fetched a value then", verdict_.name(id),
                                  verdict_.name(tensor), when()));
    else if (*state.device != wanted)
      verdict_.refuse(
          Rule::current, id, tensor,
          fmt::format("{} accesses {}{} while it holds {} of {}, expected {}", verdict_.name(id), verdict_.name(tensor),
                      when(), *state.device, counted(base + static_cast<int64_t>(updaters.size()), "update"), wanted));
    if (updates) state.device = wanted + 1;  // one message for each mistake
  }

  void expect_use(TensorId tensor) {
    const State& state = states_[tensor];
    if (!state.used)
      verdict_.refuse(Rule::host_slot, state.fetched, tensor,
                      fmt::format("{} fetches {}{}, where no task accesses it", verdict_.name(state.fetched),
                                  verdict_.name(tensor), when()));
  }

  void end(TensorId tensor) {
    const State& state = states_[tensor];
    expect_use(tensor);
    if (is_gradient(tensor) && round_.last) {
      if (!state.slot_used)
        verdict_.refuse(Rule::host_slot, state.stored, tensor,
                        fmt::format("{} writes {} back{}, after which nothing reads it", verdict_.name(state.stored),
                                    verdict_.name(tensor), when()));
      return;
    }
    const int64_t updates = is_gradient(tensor) ? parts(tensor)
                            : round_.last       ? static_cast<int64_t>(updaters_[tensor].size())
                                                : 0;
    const int64_t base = before(tensor), held = state.slot.value_or(base) - base;
    if (state.slot && held == updates) return;
    verdict_.refuse(
        Rule::host_slot, state.stored, tensor,
        is_gradient(tensor)
            ? fmt::format("{} resides in the host pool, but holds {} of {} there for the next round",
                          verdict_.name(tensor), held, counted(updates, "part"))
            : fmt::format("{} resides in the host pool, but holds {} of {} updates there when the round ends",
                          verdict_.name(tensor), held, updates));
  }

  const Plan& plan_;
  const IdVector<TensorId, std::vector<TaskId>>& updaters_;  // in task order
  const Played round_;
  Verdict& verdict_;
  IdVector<TensorId, State> states_;
};

}  // namespace

void check_rounds_of_copies(const Plan& plan, Verdict& verdict) {
  if (std::none_of(plan.tensors.begin(), plan.tensors.end(),
                   [](const PlanTensor& tensor) { return tensor.at_home_on_host(); }))
    return;
  IdVector<TensorId, std::vector<TaskId>> updaters(plan.tensors.size());
  for (const TaskId task : ids_of(plan.tasks))
    for (const TensorId tensor : plan.tasks[task].updates) updaters[tensor].push_back(task);
  std::vector<Played> rounds{{.index = 0, .first = true, .last = plan.rounds == 1}};
  if (plan.rounds > 2) rounds.push_back({.index = 1});
  if (plan.rounds > 1) rounds.push_back({.index = plan.rounds - 1, .last = true});
  for (const Played& round : rounds) RoundOfCopies(plan, updaters, round, verdict).play();
}

int64_t rounds_with(CopyRounds copy, int64_t rounds) {
  switch (copy) {
    case CopyRounds::all: return rounds;
    case CopyRounds::last: return 1;
    case CopyRounds::all_but_first:
    case CopyRounds::all_but_last: return rounds - 1;
  }
  return 0;
}

}  // namespace plimsoll
