#include "passes/infeasible.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "passes/analysis/access.h"

namespace plimsoll {
namespace {

constexpr size_t kShown = 5;  // tensors listed of those live at the peak

std::string describe(const Plan& plan, StepId id) {
  const Step& step = plan.steps[id];
  if (step.kind == StepKind::compute) return plan.tasks[step.task].name;
  return fmt::format("{} of {}", to_string(step.kind), plan.tensors[step.tensor].name);
}

bool touches(const Plan& plan, StepId id, TensorId tensor) {
  bool found = false;
  for_each_access(plan, plan.steps[id], [&](TensorId touched, bool, bool) { found |= touched == tensor; });
  return found;
}

std::string why_it_stays(const Plan& plan, const Policy& policy, const Residency& residency, StepId peak) {
  if (touches(plan, peak, residency.tensor)) return "used by this step";
  if (plan.tensors[residency.tensor].persistent) return "persistent";
  if (!policy.share_memory) return fmt::format("policy '{}' keeps every tensor for the whole round", policy.name);
  for (StepId next(peak.value + 1); next.value <= residency.last_step && plan.steps.contains(next); ++next.value)
    if (touches(plan, next, residency.tensor))
      return fmt::format(
          "still needed by {}, and policy '{}' {}", describe(plan, next), policy.name,
          policy.schedule || policy.searches ? "does not evict it before" : "offloads and recomputes nothing");
  return "read by the trainer after the round";
}

std::string both(int64_t bytes) {
  return bytes < 1024 ? counted(bytes, "byte")
                      : fmt::format("{} ({} bytes)", format_bytes(bytes), format_grouped(bytes));
}

// In rounded units, plus the exact bytes if rounding makes the two values look the same.
std::string apart_from(int64_t bytes, int64_t other) {
  return format_bytes(bytes) == format_bytes(other) ? both(bytes) : format_bytes(bytes);
}

// Tensor bytes live at the peak; the rest of the arena is fragmentation.
std::string peak_bytes(const Plan& plan) {
  int64_t persistent = 0;
  for (const PlanTensor& tensor : plan.tensors) persistent += tensor.persistent ? tensor.bytes : 0;
  const int64_t lost = plan.summary.arena_bytes - plan.summary.live_bytes;
  return fmt::format(
      "{} live, {} of it persistent{}", format_bytes(plan.summary.live_bytes), format_bytes(persistent),
      lost * 20 > plan.summary.arena_bytes ? fmt::format("; fragmentation takes {}", format_bytes(lost)) : "");
}

// `minimum`: the plan with the smallest arena. The notes name the step at the peak and the largest tensors live there,
// each with its bytes, its kind and the reason why it cannot leave.
void explain_peak(const Plan& minimum, const Policy& policy, std::vector<std::string>& notes) {
  const StepId peak(minimum.summary.peak_step);
  if (!minimum.steps.contains(peak)) return;
  notes.push_back(fmt::format("the peak is {}{}: {}", describe(minimum, peak),
                              minimum.rounds > 1 ? fmt::format(" with a sub-batch of {}", minimum.sub_batch) : "",
                              peak_bytes(minimum)));
  std::vector<const Residency*> live;
  for (const Residency& residency : minimum.residencies)
    if (!policy.share_memory || (residency.first_step <= peak.value && peak.value <= residency.last_step))
      live.push_back(&residency);
  std::ranges::stable_sort(live, std::ranges::greater(), &Residency::bytes);
  int64_t rest = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    const PlanTensor& tensor = minimum.tensors[live[i]->tensor];
    if (i >= kShown) {
      rest += tensor.bytes;
      continue;
    }
    notes.push_back(fmt::format("{}{}, {} of {}: {}", kLiveAtPeak, tensor.name, to_string(tensor.kind),
                                format_bytes(tensor.bytes), why_it_stays(minimum, policy, *live[i], peak)));
  }
  if (live.size() > kShown)
    notes.push_back(fmt::format("{}{} of {} together", kLiveAtPeak,
                                counted(static_cast<int64_t>(live.size() - kShown), "other tensor"),
                                format_bytes(rest)));
  if (const int64_t workspace = minimum.steps[peak].workspace.bytes; workspace > 0)
    notes.push_back(
        minimum.steps[peak].kind == StepKind::reduce
            ? fmt::format("{}workspace of {} for the exchange between ranks", kLiveAtPeak, format_bytes(workspace))
            : fmt::format("{}workspace of {} ({}), the smallest of this task", kLiveAtPeak, format_bytes(workspace),
                          minimum.steps[peak].algorithm));
}

// `works`: a host budget that suffices, if one is known.
Error host_budget_too_small(const Planning& planning, const Found& minimum, std::optional<int64_t> works) {
  const bool limited = planning.budget_bytes != kNoLimit;
  const std::string& source = planning.request.host_budget_source;  // "" if the user set it
  Error error{ExitCode::budget_infeasible,
              fmt::format("{}: no plan of policy '{}'{} fits its host pool into {}{}: the host budget is too small",
                          planning.variants.graph().name, planning.policy.name,
                          limited ? fmt::format(" within {}", both(planning.budget_bytes)) : "",
                          both(planning.host_budget_bytes), source.empty() ? "" : ", " + source)};
  if (works)
    error.notes.push_back(
        fmt::format("--host-budget {} works{}: {}", *works, limited ? " with this budget" : "", format_bytes(*works)));
  if (planning.fits_host(minimum))
    error.notes.push_back(fmt::format("--budget {} fits with this host budget; the minimum is {} bytes",
                                      format_budget(minimum.arena()), minimum.arena()));
  return error;
}

std::string way_out_by_rounds(const Planning& planning, const Found& in_rounds) {
  const IdVector<TaskId, Task>& tasks = planning.variants.graph().tasks;
  return fmt::format(
      "--batch-norm split fits from {} ({} bytes), but changes the result of training: {} then computes over "
      "as few as {}",
      format_bytes(in_rounds.arena()), in_rounds.arena(), std::ranges::find(tasks, true, &Task::mixes_samples)->layer,
      counted(in_rounds.candidate->sub_batch, "sample"));
}

Error device_budget_too_small(const Planning& planning, const Found& minimum, const Remedies& remedies) {
  const Policy& policy = planning.policy;
  const int64_t sub_batch = planning.request.sub_batch;
  Error error{ExitCode::budget_infeasible,
              fmt::format("{} needs at least {} at batch {}{} (budget: {})", minimum.candidate->graph->name,
                          apart_from(minimum.arena(), planning.budget_bytes), minimum.plan.batch,
                          policy.name == "auto" ? "" : fmt::format(" with policy '{}'", policy.name),
                          apart_from(planning.budget_bytes, minimum.arena()))};
  error.notes.push_back(fmt::format(
      "--budget {} fits{}; the minimum is {} bytes", format_budget(minimum.arena()),
      planning.fits_host(minimum) ? "" : fmt::format(" with --host-budget {}", minimum.host_pool()), minimum.arena()));
  explain_peak(minimum.plan, policy, error.notes);
  if (sub_batch > 1)
    error.notes.push_back(
        fmt::format("--sub-batch {} was requested; a smaller one, or the planner's choice, needs less", sub_batch));
  if (remedies.in_rounds) error.notes.push_back(way_out_by_rounds(planning, *remedies.in_rounds));
  if (!policy.share_memory) error.notes.emplace_back("policy 'liveness' lets tensors share memory and needs less");
  return error;
}

}  // namespace

Error infeasible(const Planning& planning, const Found& minimum, const Remedies& remedies) {
  return remedies.host_budget || minimum.arena() <= planning.budget_bytes
             ? host_budget_too_small(planning, minimum, remedies.host_budget)
             : device_budget_too_small(planning, minimum, remedies);
}

}  // namespace plimsoll
