#include "tests/check/damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/names.h"

namespace plimsoll {
namespace {

bool touches(const Plan& plan, const Step& step, TensorId tensor) {
  if (step.kind == StepKind::reduce)
    return std::find(step.bucket.begin(), step.bucket.end(), tensor) != step.bucket.end();
  if (step.kind != StepKind::compute) return step.tensor == tensor;
  const PlanTask& task = plan.tasks[step.task];
  for (const auto* list : {&task.reads, &task.writes, &task.updates}) {
    if (list == &task.updates && step.recompute) continue;
    if (std::find(list->begin(), list->end(), tensor) != list->end()) return true;
  }
  return false;
}

// Recomputes the last access of every residency, keeping its beginning, so that residencies do not give away a moved
// step.
void refit(Plan& plan) {
  const int32_t count = static_cast<int32_t>(plan.steps.size());
  for (Residency& residency : plan.residencies) {
    if (residency.first_step == -1) {
      residency.last_step = count;
      continue;
    }
    int32_t next = count;
    for (const Residency& other : plan.residencies)
      if (other.tensor == residency.tensor && other.first_step > residency.first_step)
        next = std::min(next, other.first_step);
    residency.last_step = residency.first_step;
    for (int32_t step = residency.first_step; step < next; ++step)
      if (touches(plan, plan.steps[StepId(step)], residency.tensor)) residency.last_step = step;
  }
}

class Damager {
 public:
  explicit Damager(const Plan& good) : good_(good), names_(step_names(good)) {
    good_.summary.arena_bytes = good_.budget_bytes = int64_t{1} << 40;
    good_.summary.host_pool_bytes = int64_t{1} << 40;
  }

  std::vector<Damaged> all() {
    waits();
    other_waits();
    steps_left_out();
    steps_moved();
    steps_twice();
    copies_swapped();
    addresses();
    addresses_exchanged();
    residencies_left_out();
    workspaces();
    ends();
    host_slots();
    host_residents();
    recomputations();
    other_recomputations();
    given_up();
    buckets();
    rounds_of_copies();
    host_budgets();
    return std::move(damages_);
  }

 private:
  template <class... Args>
  void add(Plan plan, fmt::format_string<Args...> text, Args&&... args) {
    damages_.push_back({fmt::format(text, std::forward<Args>(args)...), std::move(plan)});
  }

  std::string named(const Residency& residency) const {
    return fmt::format("{}@{:#x} from {}", spelled_tensor(good_.tensors[residency.tensor].name), residency.offset,
                       residency.first_step < 0 ? "the start" : names_[StepId(residency.first_step)]);
  }

  void waits() {
    for (StepId id : ids_of(good_.steps))
      for (size_t i = 0; i < good_.steps[id].waits.size(); ++i) {
        Plan plan = good_;
        auto& list = plan.steps[id].waits;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        add(std::move(plan), "{} does not wait for {}", names_[id], names_[good_.steps[id].waits[i]]);
      }
  }

  // Replaces a wait by one for the previous step of that stream, or for the nearest step of another stream.
  void other_waits() {
    for (StepId id : ids_of(good_.steps))
      for (size_t i = 0; i < good_.steps[id].waits.size(); ++i) {
        const StepId right = good_.steps[id].waits[i];
        StepId before, other;
        for (int32_t at = 0; at < id.value; ++at) {
          const StreamKind stream = good_.steps[StepId(at)].stream;
          if (stream == good_.steps[right].stream && at < right.value) before = StepId(at);
          if (stream != good_.steps[right].stream && stream != good_.steps[id].stream) other = StepId(at);
        }
        for (const StepId wrong : {before, other}) {
          if (!wrong.valid()) continue;
          Plan plan = good_;
          plan.steps[id].waits[i] = wrong;
          add(std::move(plan), "{} waits for {}, not for {}", names_[id], names_[wrong], names_[right]);
        }
      }
  }

  void steps_left_out() {
    for (StepId gone : ids_of(good_.steps)) {
      Plan plan = good_;
      plan.steps = {};
      const auto moved = [&](int32_t at) { return at > gone.value ? at - 1 : at; };
      for (StepId id : ids_of(good_.steps)) {
        if (id == gone) continue;
        Step step = good_.steps[id];
        // Steps after the removed one inherit its waits.
        std::set<int32_t> waits;
        for (StepId wait : step.waits) {
          if (wait != gone) waits.insert(moved(wait.value));
          else
            for (StepId through : good_.steps[gone].waits)
              if (good_.steps[through].stream != step.stream) waits.insert(moved(through.value));
        }
        step.waits.clear();
        for (int32_t wait : waits) step.waits.push_back(StepId(wait));
        plan.steps.push_back(std::move(step));
      }
      std::erase_if(plan.residencies, [&](const Residency& residency) { return residency.first_step == gone.value; });
      for (Residency& residency : plan.residencies) residency.first_step = moved(residency.first_step);
      refit(plan);
      add(std::move(plan), "{} is left out", names_[gone]);
    }
  }

  // The good plan with its steps reordered: `place[id]` is the new position of a step.
  Plan reordered(const std::vector<int32_t>& place) const {
    Plan plan = good_;
    for (StepId id : ids_of(good_.steps)) {
      Step& step = plan.steps[StepId(place[static_cast<size_t>(id.value)])] = good_.steps[id];
      for (StepId& wait : step.waits) wait = StepId(place[static_cast<size_t>(wait.value)]);
    }
    for (Residency& residency : plan.residencies)
      if (residency.first_step >= 0) residency.first_step = place[static_cast<size_t>(residency.first_step)];
    refit(plan);
    return plan;
  }

  // Moves a step to the next position, to both ends, and by distances that double each time. Waits for steps that now
  // come later are dropped.
  void steps_moved() {
    const int32_t count = static_cast<int32_t>(good_.steps.size());
    for (StepId id : ids_of(good_.steps)) {
      std::set<int32_t> places = {0, count - 1};
      for (int32_t by = 1; by < count; by *= 2)
        places.insert({std::max(id.value - by, 0), std::min(id.value + by, count - 1)});
      places.erase(id.value);
      places.erase(id.value - 1);  // equivalent to moving its predecessor
      for (const int32_t to : places) {
        std::vector<int32_t> place;
        for (int32_t at = 0; at < count; ++at)
          place.push_back(at == id.value ? to : at + (at < id.value && at >= to) - (at > id.value && at <= to));
        Plan plan = reordered(place);
        for (StepId other : ids_of(plan.steps))
          std::erase_if(plan.steps[other].waits, [&](StepId wait) { return wait >= other; });
        if (to == id.value + 1) add(std::move(plan), "{} comes before {}", names_[StepId(to)], names_[id]);
        else
          add(std::move(plan), "{} comes {} {}", names_[id], to < id.value ? "before" : "behind", names_[StepId(to)]);
      }
    }
  }

  // Repeats a step right after itself; a task is recomputed.
  void steps_twice() {
    for (StepId id : ids_of(good_.steps)) {
      Plan plan = good_;
      plan.steps = {};
      const auto moved = [&](int32_t at) { return at > id.value ? at + 1 : at; };
      for (StepId each : ids_of(good_.steps)) {
        Step step = good_.steps[each];
        for (StepId& wait : step.waits) wait = StepId(moved(wait.value));
        plan.steps.push_back(step);
        step.recompute = step.kind == StepKind::compute;
        if (each == id) plan.steps.push_back(std::move(step));
      }
      for (Residency& residency : plan.residencies) residency.first_step = moved(residency.first_step);
      refit(plan);
      add(std::move(plan), "{} comes twice", names_[id]);
    }
  }

  void copies_swapped() {
    for (StepId a : ids_of(good_.steps))
      for (StepId b : ids_of(good_.steps)) {
        const Step &one = good_.steps[a], &two = good_.steps[b];
        if (b <= a || one.kind == StepKind::compute || one.kind != two.kind || one.tensor == two.tensor) continue;
        Plan plan = good_;
        std::swap(plan.steps[a].tensor, plan.steps[b].tensor);
        std::swap(plan.steps[a].bucket, plan.steps[b].bucket);
        std::swap(plan.steps[a].host_offset, plan.steps[b].host_offset);
        for (Residency& residency : plan.residencies) {
          const StepId first(residency.first_step);
          if (one.kind != StepKind::offload && (first == a || first == b))
            residency.first_step = first == a ? b.value : a.value;
        }
        refit(plan);
        add(std::move(plan), "{} and {} change places", names_[a], names_[b]);
      }
  }

  void addresses() {
    for (size_t i = 0; i < good_.residencies.size(); ++i) {
      std::set<int64_t> places = {good_.residencies[i].offset - 256, good_.residencies[i].offset + 256,
                                  good_.residencies[i].offset + 8};
      for (const Residency& other : good_.residencies) places.insert(other.offset);
      for (const Step& step : good_.steps)
        if (step.workspace.bytes > 0) places.insert(step.workspace.offset);
      places.erase(good_.residencies[i].offset);
      for (int64_t place : places) {
        if (place < 0) continue;
        Plan plan = good_;
        plan.residencies[i].offset = place;
        add(std::move(plan), "{} lies at {:#x}", named(good_.residencies[i]), place);
      }
    }
  }

  // Exchanges addresses with the next residency in the list, and with others at doubling distances.
  void addresses_exchanged() {
    for (size_t i = 0; i < good_.residencies.size(); ++i)
      for (size_t by = 1; i + by < good_.residencies.size(); by *= 2) {
        if (good_.residencies[i].offset == good_.residencies[i + by].offset) continue;
        Plan plan = good_;
        std::swap(plan.residencies[i].offset, plan.residencies[i + by].offset);
        add(std::move(plan), "{} and {} change places", named(good_.residencies[i]), named(good_.residencies[i + by]));
      }
  }

  void residencies_left_out() {
    for (size_t i = 0; i < good_.residencies.size(); ++i) {
      Plan without = good_, shorter = good_;
      without.residencies.erase(without.residencies.begin() + static_cast<std::ptrdiff_t>(i));
      add(std::move(without), "{} is nowhere", named(good_.residencies[i]));
      shorter.residencies[i].bytes -= 1;
      add(std::move(shorter), "{} has a byte less", named(good_.residencies[i]));
    }
  }

  void workspaces() {
    for (StepId id : ids_of(good_.steps)) {
      if (good_.steps[id].kind != StepKind::compute && good_.steps[id].kind != StepKind::reduce) continue;
      std::set<int64_t> places = {good_.steps[id].workspace.offset - 256, good_.steps[id].workspace.offset + 256};
      for (const Residency& other : good_.residencies) places.insert(other.offset);
      for (int64_t place : places) {
        if (place < 0) continue;
        Plan plan = good_;
        Block& workspace = plan.steps[id].workspace;
        workspace = {place, std::max<int64_t>(workspace.bytes, 256)};
        add(std::move(plan), "the workspace of {} lies at {:#x}", names_[id], place);
      }
      const int64_t bytes = good_.steps[id].workspace.bytes;
      for (const int64_t fewer : {int64_t{0}, bytes - 1}) {
        if (bytes == 0 || (fewer == 0 && bytes == 1)) continue;
        Plan plan = good_;
        plan.steps[id].workspace.bytes = fewer;
        add(std::move(plan), "the workspace of {} has {} bytes", names_[id], fewer);
      }
      if (good_.steps[id].kind != StepKind::compute || good_.needs_of(good_.steps[id].task).empty()) continue;
      Plan other = good_;
      other.steps[id].algorithm += "'";
      add(std::move(other), "{} runs another algorithm", names_[id]);
    }
  }

  // Exactly the pool, which is correct, and a byte less.
  void host_budgets() {
    for (const int64_t less : {0, 1}) {
      Plan plan = good_;
      plan.host_budget_bytes = good_.summary.host_pool_bytes - less;
      add(std::move(plan), "the host budget is {}", less == 0 ? "what the pool takes" : "a byte less than the pool");
    }
  }

  void ends() {
    for (size_t i = 0; i < good_.residencies.size(); ++i)
      for (const int32_t by : {-1, 1})
        for (const bool first : {true, false}) {
          Plan plan = good_;
          Residency& residency = plan.residencies[i];
          (first ? residency.first_step : residency.last_step) += by;
          add(std::move(plan), "{} {} a step {}", named(good_.residencies[i]), first ? "begins" : "ends",
              by < 0 ? "earlier" : "later");
        }
  }

  void host_slots() {
    for (StepId id : ids_of(good_.steps)) {
      const Step& step = good_.steps[id];
      if (step.host_offset < 0) continue;
      std::set<int64_t> places = {step.host_offset - 256, step.host_offset + 256, step.host_offset + 8};
      for (const Step& other : good_.steps)
        if (other.host_offset >= 0) places.insert(other.host_offset);
      places.erase(step.host_offset);
      for (int64_t place : places) {
        if (place < 0) continue;
        Plan alone = good_;
        alone.steps[id].host_offset = place;
        add(std::move(alone), "{} alone is at {:#x} of the host pool", names_[id], place);
        if (step.kind != StepKind::offload) continue;
        Plan both = good_;
        for (Step& other : both.steps)
          if (other.host_offset >= 0 && other.tensor == step.tensor) other.host_offset = place;
        add(std::move(both), "{} and its prefetches are at {:#x} of the host pool", names_[id], place);
      }
    }
  }

  void host_residents() {
    for (TensorId id : ids_of(good_.tensors)) {
      if (!good_.tensors[id].at_home_on_host()) continue;
      const int64_t host_resident = good_.tensors[id].home_offset;
      std::set<int64_t> places = {host_resident - 256, host_resident + 256, host_resident + 8};
      for (const PlanTensor& other : good_.tensors)
        if (other.at_home_on_host()) places.insert(other.home_offset);
      for (const Step& step : good_.steps)
        if (step.host_offset >= 0) places.insert(step.host_offset);
      places.erase(host_resident);
      for (int64_t place : places) {
        if (place < 0) continue;
        Plan alone = good_;
        alone.tensors.edit(id).home_offset = place;
        add(std::move(alone), "the home of {} alone is at {:#x}", spelled_tensor(good_.tensors[id].name), place);
        Plan both = good_;
        both.tensors.edit(id).home_offset = place;
        for (Step& step : both.steps)
          if (step.host_offset >= 0 && step.tensor == id) step.host_offset = place;
        add(std::move(both), "{} has its home and its copies at {:#x}", spelled_tensor(good_.tensors[id].name), place);
      }
    }
  }

  void recomputations() {
    for (StepId id : ids_of(good_.steps)) {
      if (good_.steps[id].kind != StepKind::compute) continue;
      Plan plan = good_;
      plan.steps[id].recompute = !plan.steps[id].recompute;
      add(std::move(plan), "{} is a recomputation, or is none", names_[id]);
    }
  }

  // Recomputes another task than intended, before or after it.
  void other_recomputations() {
    for (StepId id : ids_of(good_.steps)) {
      if (good_.steps[id].kind != StepKind::compute || !good_.steps[id].recompute) continue;
      for (TaskId task : ids_of(good_.tasks)) {
        if (task == good_.steps[id].task) continue;
        Plan plan = good_;
        plan.steps[id].task = task;
        add(std::move(plan), "{} runs {} again", names_[id], spelled(good_.tasks[task].name));
      }
    }
  }

  // Treats the step as if it wrote the tensors that its first run saved.
  void given_up() {
    for (StepId id : ids_of(good_.steps)) {
      if (good_.steps[id].kind != StepKind::compute || !good_.steps[id].recompute) continue;
      for (TensorId tensor : good_.tasks[good_.steps[id].task].remembers)
        for (size_t i = 0; i < good_.residencies.size(); ++i) {
          Residency later = good_.residencies[i];
          if (later.tensor != tensor || later.first_step >= id.value || later.last_step < id.value) continue;
          Plan plan = good_;
          later.first_step = id.value;
          plan.residencies.push_back(later);
          refit(plan);
          add(std::move(plan), "{} is given up before {}", spelled_tensor(good_.tensors[tensor].name), names_[id]);
        }
    }
  }

  void buckets() {
    for (StepId id : ids_of(good_.steps))
      for (size_t i = 0; i < good_.steps[id].bucket.size(); ++i) {
        const TensorId tensor = good_.steps[id].bucket[i];
        Plan less = good_;
        std::vector<TensorId>& bucket = less.steps[id].bucket;
        bucket.erase(bucket.begin() + static_cast<std::ptrdiff_t>(i));
        if (!bucket.empty()) less.steps[id].tensor = bucket.front();
        refit(less);
        add(std::move(less), "{} is without {}", names_[id], spelled_tensor(good_.tensors[tensor].name));
        for (StepId other : ids_of(good_.steps)) {
          if (other == id || good_.steps[other].kind != StepKind::reduce) continue;
          Plan twice = good_;
          twice.steps[other].bucket.push_back(tensor);
          refit(twice);
          add(std::move(twice), "{} has {}, too", names_[other], spelled_tensor(good_.tensors[tensor].name));
        }
      }
  }

  void rounds_of_copies() {
    for (StepId id : ids_of(good_.steps)) {
      const Step& step = good_.steps[id];
      if (step.kind != StepKind::offload && step.kind != StepKind::prefetch) continue;
      for (const CopyRounds rounds :
           {CopyRounds::all, CopyRounds::last, CopyRounds::all_but_first, CopyRounds::all_but_last}) {
        if (rounds == step.rounds) continue;
        Plan plan = good_;
        plan.steps[id].rounds = rounds;
        add(std::move(plan), "{} runs in rounds {}", names_[id], to_string(rounds));
      }
    }
  }

  Plan good_;
  IdVector<StepId, std::string> names_;
  std::vector<Damaged> damages_;
};

}  // namespace

std::vector<Damaged> damages_of(const Plan& good) { return Damager(good).all(); }

}  // namespace plimsoll
