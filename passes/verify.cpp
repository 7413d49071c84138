#include "passes/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/bytes.h"
#include "passes/analysis/access.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {
namespace {

constexpr double kRounding = 1e-9;  // seconds

Error broken(const Plan& plan, StepId id, std::string_view what) {
  const Step& step = plan.steps[id];
  const std::string& name =
      step.kind == StepKind::compute ? plan.tasks[step.task].name : plan.tensors[step.tensor].name;
  return {ExitCode::internal, fmt::format("step {} ({} {}): {}", id.value, to_string(step.kind), name, what), {}};
}

// An error for the first step that `wrong` is true of.
template <class Wrong>
Status refuse_steps(const Plan& plan, std::string_view what, Wrong wrong) {
  for (const StepId id : ids_of(plan.steps))
    if (wrong(plan.steps[id])) return broken(plan, id, what);
  return {};
}

// Tensors and tasks are those of the graph.
Status verify_facts(const Plan& plan, const Context& context) {
  const TaskGraph& graph = context.graph;
  if (plan.tensors.size() != graph.tensors.size() || plan.tasks.size() != graph.tasks.size())
    return Error{ExitCode::internal, "tensors or tasks of the graph are missing", {}};
  for (const TaskId id : ids_of(plan.tasks))
    if (plan.tasks[id].name != graph.tasks[id].name)
      return Error{ExitCode::internal, fmt::format("task {} is not the graph's", plan.tasks[id].name), {}};
  return {};
}

// Every task runs once, and again only after that. What a step reads has been written, loaded or prefetched. What is
// prefetched has been offloaded, or resides in the host pool.
Status verify_steps(const Plan& plan, const Context& /*context*/) {
  IdVector<TaskId, bool> ran(plan.tasks.size(), false);
  IdVector<TensorId, bool> made(plan.tensors.size(), false), parked(plan.tensors.size(), false);
  for (const TensorId id : ids_of(plan.tensors)) {
    made[id] = plan.tensors[id].persistent;
    parked[id] = plan.tensors[id].at_home_on_host();
  }
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.stream != stream_of(step.kind)) return broken(plan, id, "is on another stream than its kind");
    if (step.kind == StepKind::compute) {
      if (ran[step.task] != step.recompute)
        return broken(plan, id, step.recompute ? "is recomputed before its first run" : "runs twice");
      ran[step.task] = true;
    }
    if (step.kind == StepKind::prefetch && !parked[step.tensor]) return broken(plan, id, "was not offloaded before");
    bool there = true;
    for_each_access(plan, step, [&](TensorId tensor, bool reads, bool) { there = there && (!reads || made[tensor]); });
    if (!there) return broken(plan, id, "reads a tensor that was never made");
    for_each_access(plan, step, [&](TensorId tensor, bool, bool writes) { made[tensor] = made[tensor] || writes; });
    if (step.kind == StepKind::offload) parked[step.tensor] = true;
  }
  for (const TaskId id : ids_of(ran))
    if (!ran[id]) return Error{ExitCode::internal, fmt::format("task {} never runs", plan.tasks[id].name), {}};
  return {};
}

// Every access falls in exactly one residency.
Status verify_residencies(const Plan& plan, const Context& /*context*/) {
  ResidencyCursor residencies(plan);
  for (const StepId id : ids_of(plan.steps)) {
    residencies.move_to(id);
    bool found = true;
    for_each_access(plan, plan.steps[id], [&](TensorId tensor, bool, bool) {
      const size_t now = residencies.now(tensor), before = residencies.before(tensor);
      if (now == ResidencyCursor::kNone) return void(found = false);
      const Residency& residency = plan.residencies[now];
      const bool alone =
          before == ResidencyCursor::kNone || plan.residencies[before].last_step < residency.first_step;
      found = found && alone && id.value <= residency.last_step;
    });
    if (!found) return broken(plan, id, "accesses a tensor outside its residencies");
  }
  return {};
}

Status verify_algorithms(const Plan& plan, const Context& context) {
  return refuse_steps(plan, "has no algorithm of its task", [&](const Step& step) {
    if (step.kind != StepKind::compute) return false;
    const Choice* const chosen = context.choices.find(step.task, step.recompute, step.algorithm);
    return !chosen || chosen->workspace_bytes != step.workspace.bytes;
  });
}

// Addresses are aligned and within the arena. Whether blocks overlap is left to the checker.
Status verify_addresses(const Plan& plan, const Context& /*context*/) {
  const auto wrong = [&](const Block& block) {
    return block.offset < 0 || block.offset % kAlignment != 0 || block.end() > plan.summary.arena_bytes;
  };
  for (const Residency& residency : plan.residencies)
    if (wrong(residency.block()))
      return Error{
          ExitCode::internal, fmt::format("{} has no address in the arena", plan.tensors[residency.tensor].name), {}};
  return refuse_steps(plan, "has no workspace in the arena", [&](const Step& step) {
    return step.workspace.bytes > 0 && wrong(step.workspace);
  });
}

Status verify_slots(const Plan& plan, const Context& /*context*/) {
  return refuse_steps(plan, "has no slot in the host pool", [&](const Step& step) {
    const bool copies = step.kind == StepKind::offload || step.kind == StepKind::prefetch;
    return copies && (step.host_offset < 0 || step.host_offset % kAlignment != 0);
  });
}

// A step waits for earlier steps of other streams.
Status verify_waits(const Plan& plan, const Context& /*context*/) {
  for (const StepId id : ids_of(plan.steps))
    for (const StepId wait : plan.steps[id].waits)
      if (!wait.valid() || wait.value >= id.value || plan.steps[wait].stream == plan.steps[id].stream)
        return broken(plan, id, fmt::format("waits for step {}", wait.value));
  return {};
}

Status verify_few_waits(const Plan& plan, const Context& context) {
  PLIMSOLL_TRY(verify_waits(plan, context));
  return refuse_steps(plan, "waits twice for a stream", [](const Step& step) { return step.waits.size() > 3; });
}

Status verify_times(const Plan& plan, const Context& /*context*/) {
  double free[4] = {0, 0, 0, 0};
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    double& stream = free[static_cast<size_t>(step.stream)];
    double ready = stream;
    for (const StepId wait : step.waits) ready = std::max(ready, plan.steps[wait].end);
    if (step.start < ready - kRounding || step.end < step.start) return broken(plan, id, "starts before it may");
    stream = step.end;
  }
  return {};
}

struct Promise {
  std::string_view pass;
  Status (*verify)(const Plan& plan, const Context& context);
};

constexpr Promise kPromises[] = {
    {"seed_plan", verify_facts},       {"order", verify_steps},          {"schedule", verify_steps},
    {"reduce", verify_steps},          {"liveness", verify_residencies}, {"conv_algorithm", verify_algorithms},
    {"place", verify_addresses},       {"host_pool", verify_slots},      {"sync", verify_waits},
    {"prune_waits", verify_few_waits}, {"simulate", verify_times},
};

}  // namespace

Status verify_after(std::string_view pass, const Plan& plan, const Context& context) {
  for (const Promise& promise : kPromises) {
    if (promise.pass != pass) continue;
    const Status kept = promise.verify(plan, context);
    if (kept.ok()) return {};
    return Error{ExitCode::internal, fmt::format("pass {} broke what it promises: {}", pass, kept.error().message), {}};
  }
  return {};
}

}  // namespace plimsoll
