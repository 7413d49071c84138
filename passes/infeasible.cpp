#include "passes/infeasible.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "passes/explain.h"
#include "passes/joint.h"
#include "passes/minimum.h"

namespace plimsoll {
namespace {

// The minimum with several rounds, if the batch stays whole only because a task mixes samples; "" if it is no smaller.
Result<std::string> way_out_by_rounds(const Planning& planning, const Found& minimum) {
  std::optional<Found> found;
  if (planning.policy.searches) {
    const int64_t one_sample[] = {1};
    PLIMSOLL_ASSIGN(found, least_of(planning, one_sample, true, minimum.arena()));
    PLIMSOLL_ASSIGN(std::optional<Found> less, least_in_slices(planning, one_sample, found->arena()));
    if (less) found = std::move(less);
  } else {
    PLIMSOLL_ASSIGN(found, planning.recipe(planning.policy, true).minimum_of_one_sample());
  }
  if (found->arena() >= minimum.arena()) return std::string();
  const IdVector<TaskId, Task>& tasks = planning.variants.graph().tasks;
  const auto mixes = [](const Task& task) { return task.mixes_samples; };
  return fmt::format(
      "--batch-norm split fits from {} ({} bytes), but changes the result of training: {} then computes over "
      "as few as {}",
      format_bytes(found->arena()), found->arena(), std::find_if(tasks.begin(), tasks.end(), mixes)->layer,
      counted(found->candidate->sub_batch, "sample"));
}

Error device_budget_too_small(const Planning& planning, const Found& minimum) {
  const PlanRequest& request = planning.request;
  std::vector<std::string> ways_out;
  if (request.sub_batch > 1)
    ways_out.push_back(fmt::format("--sub-batch {} was requested; a smaller one, or the planner's choice, needs less",
                                   request.sub_batch));
  if (request.sub_batch == 0 && request.batch > 1 && !planning.may_split() && !planning.variants.of_whole_batch()) {
    const Result<std::string> rounds = way_out_by_rounds(planning, minimum);
    if (!rounds.ok()) return rounds.error();
    if (!rounds->empty()) ways_out.push_back(*rounds);
  }
  if (!planning.policy.share_memory) ways_out.push_back("policy 'liveness' lets tensors share memory and needs less");
  Error error =
      explain_infeasible(minimum.plan, *minimum.candidate->graph, planning.policy, planning.budget_bytes, ways_out);
  const std::string with_pool =
      planning.fits_host(minimum.host_pool()) ? "" : fmt::format(" with --host-budget {}", minimum.host_pool());
  error.notes.insert(error.notes.begin(), fmt::format("--budget {} fits{}; the minimum is {} bytes",
                                                      format_budget(minimum.arena()), with_pool, minimum.arena()));
  return error;
}

// Plans again, without observers.
Result<bool> works_with(const Planning& planning, int64_t host_budget) {
  PlanRequest request = planning.request;
  request.observe = {};
  request.timed = {};
  request.cut_short = request.host_budget_binds = {};
  request.host_budget_bytes = host_budget;
  request.budget_bytes = planning.budget_bytes == kNoLimit ? 0 : planning.budget_bytes;
  request.budget_percent = 0;
  const Result<Plan> plan =
      serve({.variants = planning.variants, .request = request, .policy = planning.policy, .trial = true});
  if (!plan.ok() && plan.error().code != ExitCode::budget_infeasible) return plan.error();
  return plan.ok();
}

// Judged by the minimum-memory schedules, which a plan under that host budget also considers.
Result<std::optional<int64_t>> host_budget_of_search(const Planning& planning) {
  constexpr int kBisections = 6;
  std::optional<int64_t> works;
  const auto try_minimum = [&](int64_t host_budget) -> Result<bool> {
    for (const int64_t size : ends_of(planning.sub_batches())) {
      PLIMSOLL_ASSIGN(const Candidate* candidate, planning.variants.candidate(size));
      PLIMSOLL_ASSIGN(const MinimumPlan minimum, minimum_plan(*candidate, planning.policy, host_budget));
      const Found& found = minimum.found;
      if (found.arena() > planning.budget_bytes || found.host_pool() > host_budget) continue;
      works = host_budget == kNoLimit ? found.host_pool() : host_budget;
      return true;
    }
    return false;
  };
  PLIMSOLL_ASSIGN(const bool ever, try_minimum(kNoLimit));
  const int64_t given = planning.host_budget();
  int64_t low = given;
  for (int tries = 0; ever && tries < kBisections && low + (*works - given) / 64 + kAlignment < *works; ++tries) {
    const int64_t middle = low + (*works - low) / 2;
    PLIMSOLL_ASSIGN(const bool less, try_minimum(middle));
    if (!less) low = middle;
  }
  return works;
}

// Needs a trial, because what a recipe considers depends on the host budget.
Result<std::optional<int64_t>> host_budget_of_recipe(const Planning& planning) {
  std::optional<int64_t> works;
  Recipe free(planning.variants, planning.policy,
              {.budget_bytes = planning.budget_bytes,
               .limits = planning.limits,
               .sub_batch = planning.request.sub_batch,
               .may_split = planning.may_split()});
  PLIMSOLL_ASSIGN(const Found whole, free.unconstrained(planning.request.batch));
  PLIMSOLL_ASSIGN(const Found minimum, free.minimum(whole));
  if (minimum.arena() > planning.budget_bytes) return works;
  PLIMSOLL_ASSIGN(const Found found, free.choose(whole, minimum));
  PLIMSOLL_ASSIGN(const bool tried, works_with(planning, found.host_pool()));
  if (tried) works = found.host_pool();
  return works;
}

}  // namespace

Error infeasible(const Planning& planning, const Found& minimum) {
  if (planning.host_budget() == kNoLimit || planning.trial) return device_budget_too_small(planning, minimum);
  // The smallest host budget known to work within the device budget. nullopt: the device budget itself is too small.
  const Result<std::optional<int64_t>> works =
      planning.policy.searches ? host_budget_of_search(planning) : host_budget_of_recipe(planning);
  if (!works.ok()) return works.error();
  if (!*works) return device_budget_too_small(planning, minimum);
  return explain_host_budget({.name = planning.variants.graph().name,
                              .policy = planning.policy.name,
                              .budget_bytes = planning.budget_bytes,
                              .host_budget_bytes = planning.host_budget(),
                              .host_budget_source = planning.request.host_budget_source,
                              .working_host_budget = **works,
                              .minimum_arena_bytes = planning.fits_host(minimum.host_pool()) ? minimum.arena() : 0});
}

}  // namespace plimsoll
