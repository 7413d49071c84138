#include "passes/budget.h"

#include <algorithm>

#include "compiler/support/bytes.h"
#include "passes/inputs_ahead.h"
#include "passes/policies.h"
#include "passes/recipe.h"

namespace plimsoll {
namespace {

// The reference for percentages. Several requested rounds keep all weight gradients until the last round. If gradients
// dominate, that is more than the whole batch takes in one round; then 100 % is what those rounds need.
Result<int64_t> bytes_of_all(const Planning& planning, const Found& unlimited) {
  const int64_t sub_batch = planning.request.sub_batch;
  const int64_t whole = unlimited_bytes(planning, unlimited, planning.request.batch);
  if (sub_batch == 0 || sub_batch == planning.request.batch) return whole;
  PLIMSOLL_ASSIGN(const Found in_rounds, Recipe(planning, planning.policy).unlimited(sub_batch));
  return std::max(whole, unlimited_bytes(planning, in_rounds, sub_batch));
}

// Live limits are percents of the unlimited arena of policy `auto`. With the same limits for every policy, a policy
// makes the same plans on its own as it makes as a rival of `auto`.
Result<int64_t> bytes_of_limits(const Planning& planning, const Found& unlimited) {
  if (planning.policy.searches) return unlimited.arena();
  PLIMSOLL_ASSIGN(Policy searching, find_policy("auto"));
  if (planning.request.keep_order) searching.order = OrderKind::depth_first;
  PLIMSOLL_ASSIGN(const Found its_whole, Recipe(planning, searching).unlimited(planning.request.batch));
  return its_whole.arena();
}

}  // namespace

int64_t unlimited_bytes(const Planning& planning, const Found& unlimited, int64_t samples) {
  if (!planning.request.inputs_ahead || !planning.policy.searches) return unlimited.arena();
  return align_up(unlimited.arena()) + bytes_of_inputs(planning.variants.graph(), samples);
}

Result<int64_t> find_budget(const Planning& planning, const Found& unlimited) {
  const PlanRequest& request = planning.request;
  if (request.budget_bytes > 0) return request.budget_bytes;
  if (request.budget_percent <= 0) return kNoLimit;
  PLIMSOLL_ASSIGN(const int64_t all, bytes_of_all(planning, unlimited));
  return static_cast<int64_t>(static_cast<double>(all) * request.budget_percent / 100);
}

Status set_limits(Planning& planning, const Found& unlimited) {
  if (planning.budget_bytes == kNoLimit || (!planning.policy.schedule && !planning.policy.searches)) return {};
  PLIMSOLL_ASSIGN(const int64_t all, bytes_of_limits(planning, unlimited));
  planning.limits = limits_within(planning.budget_bytes, all, planning.variants.graph().tasks.size());
  return {};
}

}  // namespace plimsoll
