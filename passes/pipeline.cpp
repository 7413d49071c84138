#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "passes/analysis/liveness.h"
#include "passes/analysis/timeline.h"
#include "passes/conv_algorithm.h"
#include "passes/copy_rounds.h"
#include "passes/host_pool.h"
#include "passes/liveness.h"
#include "passes/needs.h"
#include "passes/order.h"
#include "passes/place.h"
#include "passes/reduce.h"
#include "passes/schedule_steps.h"
#include "passes/seed_plan.h"
#include "passes/simulate.h"
#include "passes/summarize.h"
#include "passes/sync.h"
#include "passes/verify.h"

namespace plimsoll {
namespace {

// Before this pass, lower bounds on the plan's time and bytes are known. A plan that reaches the ceiling ends here.
constexpr std::string_view kGate = "place";
// A decided schedule replaces the steps of this pass, so it runs for observers only.
constexpr std::string_view kReplaced = "order";

constexpr Pass kPasses[] = {
    {"seed_plan", "copy tensors and tasks from the task graph, sized for one sub-batch", seed_plan},
    // From here on, tensors and tasks are fixed, except for where a tensor resides.

    {"order", "decide the order of the tasks and the loads", order},
    {"schedule", "decide what to offload and what to recompute", schedule_steps},
    {"reduce", "reduce loss and gradients over the ranks, concurrently with the backward pass", reduce},
    // From here on, steps are neither added nor moved, so lifetimes are fixed.

    {"copy_rounds", "decide which rounds run each copy of a host-resident tensor", copy_rounds},
    {"liveness", "find the first and last step of each residency", liveness},
    {"conv_algorithm", "choose algorithms whose workspaces fit", conv_algorithm},
    // From here on, the size and lifetime of everything that takes bytes are known.

    {"place", "assign an address to every tensor and workspace", place},
    {"host_pool", "assign a host pool slot to every offloaded tensor", host_pool},
    // From here on, all addresses are fixed, so it is known which steps use the same bytes and must wait.

    {"sync", "add waits for data and for bytes still in use", sync},
    {"prune_waits", "remove waits that others imply", prune_waits},
    // From here on, the program is complete and safe, whatever the duration of any step.

    {"simulate", "predict when each step runs", simulate},
    {"summarize", "fill in the summary", summarize},
    {"needs", "record the workspace that each algorithm needs, and what would be faster", needs},
};

bool reaches(const Plan& plan, const Context& context) {
  const Ceiling& ceiling = context.ceiling;
  if (std::isfinite(ceiling.seconds) && least_iteration_seconds(plan, context) >= ceiling.seconds) return true;
  return ceiling.arena_bytes != kNoLimit && least_arena_bytes(plan, context) >= ceiling.arena_bytes;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto found = std::ranges::find(kPasses, name, &Pass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

Result<bool> run_passes(Plan& plan, const Context& context, const PassObserver& observe, const Pass* last) {
  const std::span<const Pass> all = kPasses;
  const size_t done = last ? static_cast<size_t>(last - kPasses) + 1 : 0;
  for (const Pass& pass : all.first(done)) PLIMSOLL_TRY(verify_after(pass.name, plan, context));
  for (const Pass& pass : all.subspan(done)) {
    if (context.ceiling.deadline.passed()) return false;
    if (pass.name == kReplaced && context.policy.decided && !observe) continue;
    if (pass.name == kGate && reaches(plan, context)) return false;
    const auto start = std::chrono::steady_clock::now();
    PLIMSOLL_TRY(pass.run(plan, context));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (kVerifyPasses || last) PLIMSOLL_TRY(verify_after(pass.name, plan, context));
    if (observe && !observe(pass.name, plan, spent.count())) return false;
  }
  return true;
}

}  // namespace plimsoll
