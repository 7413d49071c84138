#include "passes/place.h"

#include <algorithm>
#include <numeric>

#include "compiler/support/bytes.h"
#include "passes/analysis/liveness.h"
#include "passes/place/last_solutions.h"
#include "passes/place/solve.h"

namespace plimsoll {
namespace {

// Chains of sharing pairs, each named by its first residency. Pairs come in issue order, so the chain of a pair's
// `read` is already known.
std::vector<size_t> chains_of(const Plan& plan, const std::vector<SharedPair>& shared) {
  std::vector<size_t> chain(plan.residencies.size());
  std::iota(chain.begin(), chain.end(), size_t{0});
  for (const SharedPair& pair : shared) chain[pair.written] = chain[pair.read];
  return chain;
}

}  // namespace

Status place(Plan& plan, const Context& context) {
  const int64_t steps = static_cast<int64_t>(plan.steps.size());
  int64_t bottom = 0;
  for (Residency& residency : plan.residencies) {
    if (residency.first_step >= 0) continue;
    residency.offset = bottom;
    bottom += align_up(residency.bytes);
  }

  const std::vector<size_t> chain = chains_of(plan, find_shared_pairs(plan, context.policy));
  const std::vector<bool> ends = context.policy.place == PlaceKind::by_mobility
                                     ? ends_soon(plan)
                                     : std::vector<bool>(plan.residencies.size(), true);
  placement::Problem problem;
  std::vector<bool> low;  // of each buffer: whether its lifetime ends soon (analysis/liveness.h)
  std::vector<size_t> buffer_of(plan.residencies.size());
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (residency.first_step < 0) continue;
    const int64_t lower = context.policy.share_memory ? residency.first_step : 0;
    const int64_t upper = context.policy.share_memory ? residency.last_step + 1 : steps;
    if (chain[i] == i) {
      buffer_of[i] = problem.buffers.size();
      problem.buffers.push_back({.lower = lower, .upper = upper, .size = align_up(residency.bytes)});
      low.push_back(ends[i]);
    } else {
      placement::Buffer& buffer = problem.buffers[buffer_of[i] = buffer_of[chain[i]]];
      buffer.upper = std::max(buffer.upper, upper);
      buffer.size = std::max(buffer.size, align_up(residency.bytes));
    }
  }
  // Reductions run one after another and overlap with tasks, which must not use their bytes. So one workspace serves
  // all of them and lives from the first to the last.
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t of_reductions = kNone;
  std::vector<size_t> workspace_of(plan.steps.size(), kNone);
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.workspace.bytes == 0) continue;
    size_t& mine = workspace_of[static_cast<size_t>(id.value)];
    mine = step.kind == StepKind::reduce && of_reductions != kNone ? of_reductions : problem.buffers.size();
    if (mine == problem.buffers.size()) problem.buffers.push_back({.lower = id.value});
    placement::Buffer& buffer = problem.buffers[mine];
    buffer.upper = id.value + 1;
    buffer.size = std::max(buffer.size, align_up(step.workspace.bytes));
    if (step.kind == StepKind::reduce) of_reductions = mine;
  }
  if (const Status status = placement::check(problem); !status.ok())
    internal_error(__FILE__, __LINE__, status.error().message);

  low.resize(problem.buffers.size(), true);
  // The unlimited plan is the reference for budgets in percent, and is placed only once.
  placement::Effort effort = context.live_limit == kNoLimit ? placement::kQuick : placement::kPlan;
  if (context.live_limit != kNoLimit) effort.capacity = std::max<int64_t>(context.live_limit - bottom, 0);
  effort.by_beginning = std::ranges::count(plan.steps, StepKind::offload, &Step::kind) == 0;
  const placement::Solution solution = context.policy.place != PlaceKind::best_of
                                           ? placement::place_in_turn(problem, low)
                                       : context.placements ? context.placements->solve(problem, effort)
                                                            : placement::solve(problem, effort);
  for (size_t i = 0; i < plan.residencies.size(); ++i)
    if (plan.residencies[i].first_step >= 0) plan.residencies[i].offset = bottom + solution.offsets[buffer_of[i]];
  for (const StepId id : ids_of(plan.steps)) {
    const size_t mine = workspace_of[static_cast<size_t>(id.value)];
    plan.steps[id].workspace.offset = mine == kNone ? 0 : bottom + solution.offsets[mine];
  }
  plan.summary.persistent_bytes = bottom;
  plan.summary.arena_bytes = bottom + solution.height;
  return {};
}

}  // namespace plimsoll
