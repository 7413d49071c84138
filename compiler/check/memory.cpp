// Rules 2 to 5: every access lies in a residency, finds the current value, and is ordered against other uses of its
// bytes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "compiler/check/claims.h"
#include "compiler/check/happens_before.h"
#include "compiler/check/residences.h"
#include "compiler/check/verdict.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

// The state of a residency while the plan is processed in issue order.
struct Life {
  Claim claim = {};
  int32_t last_step = 0;  // as the plan says
  int32_t first_touch = -1, last_touch = -1;
  PerStream changed = {}, read = {};  // the last of each, per stream
  int32_t version = 0;                // number of updates included in the stored value
};

struct HostCopy {
  size_t claim = 0;
  StepId made = {};
  int32_t version = 0;
};

class Memory {
 public:
  Memory(const Plan& plan, int threads, Verdict& verdict)
      : plan_(plan), threads_(threads), verdict_(verdict), before_(plan), residences_(plan, before_, verdict) {}

  void run() {
    find_updaters();
    lay_out();
    residences_.claim(host_slots_);
    keep_results();
    std::vector<Touch> touches;
    for (StepId step : ids_of(plan_.steps)) {
      touches_of(plan_, plan_.steps[step], touches);
      for (const Touch& touch : touches) follow(step, touch);
      claim_workspace(step);
    }
    check_ends();
    std::vector<const Claim*> claims, slots;
    claims.reserve(lives_.size() + workspaces_.size());
    for (const Life& life : lives_) claims.push_back(&life.claim);
    for (const Claim& claim : workspaces_) claims.push_back(&claim);
    for (const Claim& claim : host_slots_) slots.push_back(&claim);
    check_handovers(plan_, before_, std::move(claims), false, threads_, verdict_);
    check_handovers(plan_, before_, std::move(slots), true, 1, verdict_);
  }

 private:
  int32_t step_count() const { return static_cast<int32_t>(plan_.steps.size()); }

  // Updates of a tensor run in task order. A task that only reads it needs all updates by earlier tasks and none by
  // later ones. So a weight is read before its update, a gradient with all its parts.
  void find_updaters() {
    updaters_ = IdVector<TensorId, std::vector<TaskId>>(plan_.tensors.size());
    added_up_ = added_up_over_ranks(plan_);
    changes_ = added_up_;
    for (TaskId task : ids_of(plan_.tasks))
      for (TensorId tensor : plan_.tasks[task].updates) {
        updaters_[tensor].push_back(task);
        changes_[tensor] = true;
      }
  }

  // A reduction counts as an update: it needs the parts of all tasks except update tasks, and these need its result.
  int32_t wanted_version(TensorId tensor, const Step& step) const {
    const std::vector<TaskId>& updaters = updaters_[tensor];
    if (step.kind == StepKind::reduce) return parts(tensor);
    const auto before =
        static_cast<int32_t>(std::lower_bound(updaters.begin(), updaters.end(), step.task) - updaters.begin());
    return before + (added_up_[tensor] && plan_.tasks[step.task].kind == TaskKind::update);
  }
  int32_t parts(TensorId tensor) const {
    return static_cast<int32_t>(std::count_if(updaters_[tensor].begin(), updaters_[tensor].end(),
                                              [&](TaskId task) { return plan_.tasks[task].kind != TaskKind::update; }));
  }

  // For a tensor summed over ranks: explains why `version` is wrong where `wanted` is needed.
  std::string out_of_order(StepId id, TensorId tensor, int32_t version, int32_t wanted) const {
    const int32_t own = parts(tensor);
    const std::string name = verdict_.name(tensor), step = verdict_.name(id);
    if (version <= own && wanted > own)
      return fmt::format("{} reads {} before it is reduced over the ranks", step, name);
    if (version > own && wanted <= own)
      return fmt::format("{} accesses {} after it was reduced over the ranks", step, name);
    return fmt::format("{} accesses {} while it holds {} of its updates, expected {}", step, name, version, wanted);
  }

  void lay_out() {
    lives_.reserve(plan_.residencies.size());
    for (const Residency& residency : plan_.residencies) {
      const PlanTensor& tensor = plan_.tensors[residency.tensor];
      const bool forever = residency.first_step == -1 && residency.last_step == step_count();
      const auto refuse = [&](Rule rule, const std::string& what) {
        verdict_.refuse(rule, {}, residency.tensor,
                        fmt::format("{} at {:#x} {}", verdict_.name(residency.tensor), residency.offset, what));
      };
      if (residency.bytes != tensor.bytes)
        refuse(Rule::residency,
               fmt::format("has {} bytes there, but the tensor has {}", residency.bytes, tensor.bytes));
      if (residency.offset % kAlignment != 0)
        refuse(Rule::bounds, fmt::format("is not aligned to {} bytes", kAlignment));
      if (residency.block().end() > plan_.summary.arena_bytes)
        refuse(Rule::bounds, fmt::format("ends at {:#x}, outside the arena of {} bytes", residency.block().end(),
                                         plan_.summary.arena_bytes));
      if (tensor.persistent && !forever)
        refuse(Rule::residency, fmt::format("is persistent, from -1 to {}, but resident from {} to {} only",
                                            step_count(), residency.first_step, residency.last_step));
      else if (!tensor.persistent && (residency.first_step < 0 || residency.first_step > residency.last_step ||
                                      residency.first_step >= step_count() || residency.last_step > step_count()))
        refuse(Rule::residency, fmt::format("is resident from step {} to {} of {}", residency.first_step,
                                            residency.last_step, step_count()));
      Life life;
      life.claim.block = residency.block();
      life.claim.tensor = residency.tensor;
      life.claim.from = residency.first_step;
      life.claim.forever = tensor.persistent;
      life.last_step = residency.last_step;
      lives_.push_back(life);
    }
    sort_by_tensor();
    for (TensorId tensor : ids_of(plan_.tensors)) {
      const std::span<const size_t> mine = lives_of(tensor);
      for (size_t i = 1; i < mine.size(); ++i) {
        const Residency &a = plan_.residencies[mine[i - 1]], &b = plan_.residencies[mine[i]];
        if (b.first_step <= a.last_step)
          verdict_.refuse(Rule::residency, {}, tensor,
                          fmt::format("{} has two residencies at step {}, at {:#x} and {:#x}", verdict_.name(tensor),
                                      b.first_step, a.offset, b.offset));
      }
      if (plan_.tensors[tensor].persistent && mine.empty())
        verdict_.refuse(Rule::residency, {}, tensor,
                        fmt::format("{} is persistent, but has no residency", verdict_.name(tensor)));
    }
  }

  void sort_by_tensor() {
    begin_ = IdVector<TensorId, size_t>(plan_.tensors.size() + 1);
    for (const Residency& residency : plan_.residencies) ++begin_[TensorId(residency.tensor.value + 1)];
    for (int64_t i = 1; i < static_cast<int64_t>(begin_.size()); ++i) begin_[TensorId(i)] += begin_[TensorId(i - 1)];
    of_tensors_.resize(plan_.residencies.size());
    IdVector<TensorId, size_t> next = begin_;
    for (size_t i = 0; i < plan_.residencies.size(); ++i) of_tensors_[next[plan_.residencies[i].tensor]++] = i;
    const auto is_earlier = [&](size_t a, size_t b) { return lives_[a].claim.from < lives_[b].claim.from; };
    for (TensorId tensor : ids_of(plan_.tensors))
      if (const auto mine = lives_of(tensor); !std::is_sorted(mine.begin(), mine.end(), is_earlier))
        std::stable_sort(mine.begin(), mine.end(), is_earlier);
  }

  // Indices of the tensor's lives, sorted by first step.
  std::span<size_t> lives_of(TensorId tensor) {
    const size_t begin = begin_[tensor];
    return std::span(of_tensors_).subspan(begin, begin_[TensorId(tensor.value + 1)] - begin);
  }

  // The trainer reads the results at the end of the round, so their residencies may last until then.
  void keep_results() {
    const IdVector<TensorId, bool> results = results_of(plan_);
    for (TensorId tensor : ids_of(plan_.tensors)) {
      if (!results[tensor]) continue;
      for (size_t i : lives_of(tensor)) lives_[i].claim.to_the_end = true;
    }
  }

  Life* residency_at(StepId step, TensorId tensor) {
    const std::span<const size_t> mine = lives_of(tensor);
    auto after = std::upper_bound(mine.begin(), mine.end(), step.value,
                                  [&](int32_t at, size_t i) { return at < lives_[i].claim.from; });
    if (after == mine.begin()) return nullptr;
    Life& life = lives_[*std::prev(after)];
    return step.value <= life.last_step ? &life : nullptr;
  }

  void follow(StepId step, const Touch& touch) {
    const TensorId tensor = touch.tensor;
    Life* life = residency_at(step, tensor);
    if (!life) {
      verdict_.refuse(Rule::residency, step, tensor,
                      fmt::format("{} {} {}, which is not resident then", verdict_.name(step), verb(touch.access),
                                  verdict_.name(tensor)));
      return;
    }
    const bool persistent = life->claim.forever, changes = touch.access != Access::read;
    if (life->first_touch < 0 && !persistent && touch.access != Access::write)
      verdict_.refuse(Rule::value, step, tensor,
                      fmt::format("{} {} {} at {:#x}, where it was never written", verdict_.name(step),
                                  verb(touch.access), verdict_.name(tensor), life->claim.block.offset));
    expect_order(step, touch, life->changed);
    if (changes) expect_order(step, touch, life->read);
    expect_version(step, touch, *life);

    const size_t stream = static_cast<size_t>(plan_.steps[step].stream);
    (changes ? life->changed : life->read)[stream] = step;
    if (life->first_touch < 0) life->first_touch = step.value;
    life->last_touch = step.value;
    life->claim.touch(step, plan_.steps[step].stream);
  }

  // Rule 2: accesses to one residency, one of which changes it, are ordered. Comparing with the last access on each
  // stream suffices, because earlier ones on that stream precede it.
  void expect_order(StepId step, const Touch& touch, const PerStream& earlier) {
    for (StepId other : earlier) {
      if (!other.valid() || other == step || before_(other, step)) continue;
      verdict_.refuse(
          Rule::value, step, touch.tensor,
          fmt::format("{} {} {} but does not wait for {}, which {} it", verdict_.name(step), verb(touch.access),
                      verdict_.name(touch.tensor), verdict_.name(other), verb_of(other, touch.tensor)));
    }
  }

  std::string verb_of(StepId step, TensorId tensor) const {
    std::vector<Touch> touches;
    touches_of(plan_, plan_.steps[step], touches);
    for (const Touch& touch : touches)
      if (touch.tensor == tensor) return std::string(verb(touch.access));
    return "touches";
  }

  // Rule 5, and the host pool: a copy transfers the value as it was when it was offloaded.
  void expect_version(StepId id, const Touch& touch, Life& life) {
    const Step& step = plan_.steps[id];
    const TensorId tensor = touch.tensor;
    switch (step.kind) {
      case StepKind::load: life.version = 0; return;
      case StepKind::offload: {
        if (residences_.has(tensor)) return residences_.store(id);
        const Block slot{step.host_offset, plan_.tensors[tensor].bytes};
        if (slot.offset % kAlignment != 0)
          verdict_.refuse(
              Rule::bounds, id, tensor,
              fmt::format("the host pool slot of {} is not aligned to {} bytes", verdict_.name(id), kAlignment));
        if (slot.end() > plan_.summary.host_pool_bytes)
          verdict_.refuse(Rule::bounds, id, tensor,
                          fmt::format("{} ends at {:#x}, outside the host pool of {} bytes", verdict_.name(id),
                                      slot.end(), plan_.summary.host_pool_bytes));
        copies_[{tensor, step.host_offset}] = {host_slots_.size(), id, life.version};
        host_slots_.push_back({.block = slot, .tensor = tensor, .from = id.value});
        host_slots_.back().touch(id, step.stream);
        return;
      }
      case StepKind::prefetch: {
        if (residences_.has(tensor)) return residences_.fetch(id);
        const auto copy = copies_.find({tensor, step.host_offset});
        if (copy == copies_.end()) {
          verdict_.refuse(Rule::host_slot, id, tensor,
                          fmt::format("{} fetches {} from {:#x} of the host pool, where no offload has written it",
                                      verdict_.name(id), verdict_.name(tensor), step.host_offset));
          return;
        }
        if (!before_(copy->second.made, id))
          verdict_.refuse(Rule::host_slot, id, tensor,
                          fmt::format("{} does not wait for {}, which copies {} into the host pool", verdict_.name(id),
                                      verdict_.name(copy->second.made), verdict_.name(tensor)));
        host_slots_[copy->second.claim].touch(id, step.stream);
        life.version = copy->second.version;
        return;
      }
      case StepKind::compute:
      case StepKind::reduce: break;
    }
    if (touch.access == Access::write) {
      life.version = 0;
      return;
    }
    if (residences_.has(tensor)) return;  // checked round by round (rounds.h)
    const int32_t wanted = changes_[tensor] ? wanted_version(tensor, step) : 0;
    const int32_t all =
        changes_[tensor] ? static_cast<int32_t>(updaters_[tensor].size()) + (added_up_[tensor] ? 1 : 0) : 0;
    if (life.version != wanted && (added_up_[tensor] || step.kind == StepKind::reduce)) {
      verdict_.refuse(Rule::current, id, tensor, out_of_order(id, tensor, life.version, wanted));
    } else if (life.version != wanted) {
      const bool late = life.version > wanted;
      verdict_.refuse(
          Rule::current, id, tensor,
          fmt::format("{} {} {} {} {}: it holds {} of {} updates, expected {}", verdict_.name(id), verb(touch.access),
                      verdict_.name(tensor), late ? "after the update by" : "before the update by",
                      verdict_.name(updaters_[tensor][static_cast<size_t>(late ? wanted : life.version)]), life.version,
                      all, wanted));
    }
    if (touch.access == Access::update) life.version = std::min(life.version + 1, all);
  }

  void claim_workspace(StepId id) {
    const Step& step = plan_.steps[id];
    const Block& block = step.workspace;
    expect_enough(id);
    if (block.bytes == 0) return;
    if (block.offset % kAlignment != 0)
      verdict_.refuse(Rule::bounds, id, {}, fmt::format("the workspace of {} at {:#x} is not aligned to {} bytes",
                                                        verdict_.name(id), block.offset, kAlignment));
    if (block.end() > plan_.summary.arena_bytes)
      verdict_.refuse(Rule::bounds, id, {},
                      fmt::format("the workspace of {} ends at {:#x}, outside the arena of {} bytes", verdict_.name(id),
                                  block.end(), plan_.summary.arena_bytes));
    Claim claim{.block = block, .from = id.value};
    claim.touch(id, step.stream);
    workspaces_.push_back(claim);
  }

  void expect_enough(StepId id) {
    const Step& step = plan_.steps[id];
    const auto refuse = [&](std::string message) { verdict_.refuse(Rule::workspace, id, {}, std::move(message)); };
    if (step.kind == StepKind::reduce && step.workspace.bytes < plan_.reduction_needs_bytes)
      refuse(fmt::format("{} has a workspace of {} bytes, but a reduction needs {}", verdict_.name(id),
                         step.workspace.bytes, plan_.reduction_needs_bytes));
    if (step.kind != StepKind::compute) return;
    const WorkspaceNeed* const need = plan_.need_of(step);
    if (!need)
      refuse(fmt::format("{} runs algorithm {}, whose workspace its task does not state", verdict_.name(id),
                         spelled(step.algorithm)));
    else if (step.workspace.bytes < need->workspace_bytes)
      refuse(fmt::format("{} has a workspace of {} bytes, but {} needs {}", verdict_.name(id), step.workspace.bytes,
                         spelled(step.algorithm), need->workspace_bytes));
  }

  void check_ends() {
    for (size_t i = 0; i < lives_.size(); ++i) {
      const Life& life = lives_[i];
      const Residency& residency = plan_.residencies[i];
      if (plan_.tensors[residency.tensor].persistent) continue;
      const bool kept = life.claim.to_the_end && residency.last_step >= step_count() - 1;
      if (life.first_touch == residency.first_step && (kept || life.last_touch == residency.last_step)) continue;
      const std::string name = verdict_.name(residency.tensor);
      verdict_.refuse(Rule::residency, {}, residency.tensor,
                      life.first_touch < 0
                          ? fmt::format("{} at {:#x} is resident from step {} to {}, but not accessed in between", name,
                                        residency.offset, residency.first_step, residency.last_step)
                          : fmt::format("{} at {:#x} is resident from step {} to {}, but accessed from {} to {}", name,
                                        residency.offset, residency.first_step, residency.last_step, life.first_touch,
                                        life.last_touch));
    }
  }

  static std::string_view verb(Access access) {
    return access == Access::read ? "reads" : access == Access::write ? "writes" : "updates";
  }

  const Plan& plan_;
  const int threads_;
  Verdict& verdict_;
  const HappensBefore before_;
  Residences residences_;
  IdVector<TensorId, std::vector<TaskId>> updaters_;
  IdVector<TensorId, bool> added_up_;
  IdVector<TensorId, bool> changes_;  // after it was written: by updaters_, or as it is added up
  std::vector<Life> lives_;  // indexed like plan.residencies
  std::vector<size_t> of_tensors_;    // their indices, tensor by tensor
  IdVector<TensorId, size_t> begin_;  // where those of each tensor begin there; one more for the end
  std::vector<Claim> workspaces_, host_slots_;
  std::map<std::pair<TensorId, int64_t>, HostCopy> copies_;  // the latest copy of each tensor at each offset
};

}  // namespace

void check_memory(const Plan& plan, int threads, Verdict& verdict) {
  Memory(plan, threads, verdict).run();
  check_inputs_ahead(plan, verdict);
  if (plan.host_budget_bytes >= 0 && plan.summary.host_pool_bytes > plan.host_budget_bytes)
    verdict.refuse(Rule::bounds, fmt::format("the host pool of {} bytes exceeds the host budget of {}",
                                             plan.summary.host_pool_bytes, plan.host_budget_bytes));
  if (plan.summary.arena_bytes > plan.budget_bytes)
    verdict.refuse(Rule::bounds, fmt::format("the arena of {} bytes exceeds the budget of {}", plan.summary.arena_bytes,
                                             plan.budget_bytes));
}

}  // namespace plimsoll
