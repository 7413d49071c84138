#include "passes/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <span>

#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "passes/check_request.h"
#include "passes/select_variant.h"
#include "passes/explain.h"
#include "passes/recipe.h"
#include "passes/rivals.h"
#include "passes/slices_gain.h"

namespace plimsoll {
namespace {

constexpr double kPlansReserved = 2;  // a search under a deadline reserves the time of this many plans

// The largest and the smallest sub-batch.
std::vector<int64_t> ends_of(const std::vector<int64_t>& sizes) {
  return sizes.size() > 1 ? std::vector{sizes.front(), sizes.back()} : sizes;
}

constexpr const char* kGenerator = "plimsoll 0.1.0";

// Serves one request to a planner.
class Planning {
 public:
  // `trial`: the caller only asks whether a plan exists.
  Planning(Variants& variants, const PlanRequest& request, const Policy& policy, bool trial = false)
      : variants_(variants), request_(request), policy_(policy), trial_(trial) {}

  Result<Plan> run();

 private:
  bool may_split() const {
    return request_.batch > 1 && !variants_.of_whole_batch() && (request_.may_split_statistics || !variants_.mixes_samples());
  }
  Recipe recipe(const Policy& policy) { return recipe(policy, may_split()); }
  Recipe recipe(const Policy& policy, bool may_split, const Deadline& deadline = {}) {
    return Recipe(variants_, policy,
                  {.budget_bytes = budget_, .host_budget_bytes = host_budget_, .limits = limits_, .sub_batch = request_.sub_batch, .may_split = may_split, .deadline = deadline});
  }
  Result<int64_t> bytes_of_all(const Found& whole);
  Status find_limits(const Found& whole);
  Result<Found> choose(const Found& unconstrained);
  Result<Found> choose_jointly(const Found& unconstrained);
  std::vector<int64_t> sub_batches(bool may_split) const;
  Result<Found> find_minimum(const Found& unconstrained);
  Status find_less(std::span<const int64_t> sub_batches, bool may_split, int64_t below, std::optional<Found>& found);
  Result<Variants*> variants_in_slices();
  Result<Variants*> find_less_in_slices(std::span<const int64_t> sub_batches, int64_t below,
                                        std::optional<Found>& found);
  Result<std::string> way_out_by_rounds();
  Error infeasible();
  Error refused();
  Result<std::optional<int64_t>> host_budget_that_works();
  Result<bool> works_with(int64_t host_budget);
  bool fits_host(int64_t pool_bytes) const { return pool_bytes <= host_budget_; }
  Status observe(const Found& found);

  Variants& variants_;
  const PlanRequest& request_;
  const Policy& policy_;
  const bool trial_;
  Deadline deadline_;
  int64_t budget_ = kNoLimit;
  int64_t host_budget_ = request_.host_budget_bytes;
  std::vector<int64_t> limits_ = {kNoLimit};  // live limits within the budget (recipe.h)
  std::optional<Found> minimum_;  // the smallest arena that the request allows
  std::optional<Found> minimum_in_slices_;  // the same with weights updated in slices, if smaller
  double one_plan_seconds_ = 0; // duration of making one plan
};

// The minimum with several rounds, if the batch stays whole only because a task mixes samples.
Result<std::string> Planning::way_out_by_rounds() {
  std::optional<Found> found;
  if (policy_.searches) {
    const int64_t one_sample[] = {1};
    PLIMSOLL_TRY(find_less(one_sample, true, minimum_->arena(), found));
    PLIMSOLL_TRY(find_less_in_slices(one_sample, found->arena(), found));
  } else {
    PLIMSOLL_ASSIGN(found, recipe(policy_, true).minimum_of_one_sample());
  }
  const Found& rounds = *found;
  if (rounds.arena() >= minimum_->arena()) return std::string();
  const IdVector<TaskId, Task>& tasks = variants_.graph().tasks;
  const auto mixes = [](const Task& task) { return task.mixes_samples; };
  return fmt::format("--batch-norm split fits from {} ({} bytes), but changes the result of training: {} then computes over "
                     "as few as {}",
                     format_bytes(rounds.arena()), rounds.arena(), std::find_if(tasks.begin(), tasks.end(), mixes)->layer,
                     counted(rounds.candidate->sub_batch, "sample"));
}

Error Planning::infeasible() {
  std::vector<std::string> ways_out;
  if (request_.sub_batch != 0 && request_.sub_batch > 1)
    ways_out.push_back(fmt::format("--sub-batch {} was requested; a smaller one, or the planner's choice, needs less",
                                   request_.sub_batch));
  if (request_.sub_batch == 0 && request_.batch > 1 && !may_split() && !variants_.of_whole_batch()) {
    const Result<std::string> rounds = way_out_by_rounds();
    if (!rounds.ok()) return rounds.error();
    if (!rounds->empty()) ways_out.push_back(*rounds);
  }
  if (!policy_.share_memory) ways_out.push_back("policy 'liveness' lets tensors share memory and needs less");
  Error error = explain_infeasible(minimum_->plan, *minimum_->candidate->graph, policy_, budget_, ways_out);
  // The remedy comes before the reason.
  error.notes.insert(error.notes.begin(),
                     fits_host(minimum_->host_pool())
                         ? fmt::format("--budget {} fits; the minimum is {} bytes", format_budget(minimum_->arena()), minimum_->arena())
                         : fmt::format("--budget {} fits with --host-budget {}; the minimum is {} bytes", format_budget(minimum_->arena()), minimum_->host_pool(), minimum_->arena()));
  return error;
}

// The error for whichever budget is too small: the host budget, if a larger one would help.
Error Planning::refused() {
  if (host_budget_ == kNoLimit || trial_) return infeasible();
  const Result<std::optional<int64_t>> works = host_budget_that_works();
  if (!works.ok()) return works.error();
  if (!*works) return infeasible();
  return explain_host_budget({.name = variants_.graph().name,
                              .policy = policy_.name,
                              .budget_bytes = budget_,
                              .host_budget_bytes = host_budget_,
                              .host_budget_source = request_.host_budget_source,
                              .working_host_budget = **works,
                              .minimum_arena_bytes = fits_host(minimum_->host_pool()) ? minimum_->arena() : 0});
}

// Plans again, without observers.
Result<bool> Planning::works_with(int64_t host_budget) {
  PlanRequest request = request_;
  request.observe = {};
  request.timed = {};
  request.cut_short = request.host_budget_binds = {};
  request.host_budget_bytes = host_budget;
  request.budget_bytes = budget_ == kNoLimit ? 0 : budget_;
  request.budget_percent = 0;
  const Result<Plan> plan = Planning(variants_, request, policy_, true).run();
  if (!plan.ok() && plan.error().code != ExitCode::budget_infeasible) return plan.error();
  return plan.ok();
}

// The smallest host budget known to work within the device budget. nullopt: none does, because the device budget itself
// is too small. A policy that searches is judged by its minimum-memory schedules, which a plan under that host budget
// also considers. Other policies need a trial, because what they consider depends on the host budget.
Result<std::optional<int64_t>> Planning::host_budget_that_works() {
  constexpr int kBisections = 6;
  std::optional<int64_t> works;
  const auto try_minimum = [&](int64_t host_budget) -> Result<bool> {
    for (const int64_t size : ends_of(sub_batches(may_split()))) {
      PLIMSOLL_ASSIGN(const Candidate* variant, variants_.candidate(size));
      PLIMSOLL_ASSIGN(const MinimumPlan minimum, minimum_plan(*variant, policy_, host_budget));
      const PlanSummary& summary = minimum.joint.plan.summary;
      if (summary.arena_bytes > budget_ || summary.host_pool_bytes > host_budget) continue;
      works = host_budget == kNoLimit ? summary.host_pool_bytes : host_budget;
      return true;
    }
    return false;
  };
  if (policy_.searches) {
    PLIMSOLL_ASSIGN(const bool ever, try_minimum(kNoLimit));
    int64_t low = host_budget_;
    for (int tries = 0; ever && tries < kBisections && low + (*works - host_budget_) / 64 + kAlignment < *works; ++tries) {
      const int64_t middle = low + (*works - low) / 2;
      PLIMSOLL_ASSIGN(const bool less, try_minimum(middle));
      if (!less) low = middle;
    }
    return works;
  }
  Recipe free(variants_, policy_, {.budget_bytes = budget_, .limits = limits_, .sub_batch = request_.sub_batch, .may_split = may_split()});
  PLIMSOLL_ASSIGN(const Found whole, free.unconstrained(request_.batch));
  PLIMSOLL_ASSIGN(const Found minimum, free.minimum(whole));
  if (minimum.arena() > budget_) return works;
  PLIMSOLL_ASSIGN(const Found found, free.choose(whole, minimum));
  PLIMSOLL_ASSIGN(const bool tried, works_with(found.host_pool()));
  if (tried) works = found.host_pool();
  return works;
}

Result<Found> Planning::choose(const Found& unconstrained) {
  Recipe recipe = this->recipe(policy_);
  PLIMSOLL_ASSIGN(minimum_, recipe.minimum(unconstrained));
  if (minimum_->arena() > budget_ || !fits_host(minimum_->host_pool())) return refused();
  return recipe.choose(unconstrained, *minimum_);
}

// The reference for percentages. Several requested rounds keep all weight gradients until the last round. If gradients
// dominate, that is more than the whole batch takes in one round; then 100 % is what those rounds need.
Result<int64_t> Planning::bytes_of_all(const Found& whole) {
  if (request_.sub_batch == 0 || request_.sub_batch == request_.batch) return whole.arena();
  PLIMSOLL_ASSIGN(const Found in_rounds, recipe(policy_).unconstrained(request_.sub_batch));
  return std::max(whole.arena(), in_rounds.arena());
}

// The sub-batches to consider, most samples first.
std::vector<int64_t> Planning::sub_batches(bool may_split) const {
  if (request_.sub_batch != 0) return {request_.sub_batch};
  return may_split ? worthwhile_sub_batches(request_.batch) : std::vector<int64_t>{request_.batch};
}

// The minimum: every tensor that may be evicted is evicted right after use, or a policy of the literature that needs
// less. After the deadline, those policies are asked only if nothing fits yet.
Result<Found> Planning::find_minimum(const Found& unconstrained) {
  const std::vector<int64_t> sizes = sub_batches(may_split());
  std::optional<Found> found;
  if (sizes.front() == request_.batch) found = unconstrained;
  PLIMSOLL_TRY(find_less(ends_of(sizes), may_split(), kNoLimit, found));
  return std::move(*found);
}

// The minimum over these sub-batches, if below `below`.
Status Planning::find_less(std::span<const int64_t> ends, bool may_split, int64_t below, std::optional<Found>& found) {
  int64_t bound = kNoLimit;
  for (const int64_t size : ends) {
    if (found && found->arena() <= budget_ && deadline_.sooner(one_plan_seconds_).passed()) break;
    PLIMSOLL_ASSIGN(const Candidate* variant, variants_.candidate(size));
    PLIMSOLL_ASSIGN(MinimumPlan minimum, minimum_plan(*variant, policy_, host_budget_));
    bound = std::min(bound, minimum.bound_bytes);
    if (!fits_host(minimum.joint.plan.summary.host_pool_bytes)) {
      if (found) continue;
      PLIMSOLL_ASSIGN(found, recipe(policy_).unconstrained(size));
      continue;
    }
    if (found && found->arena() <= minimum.joint.plan.summary.arena_bytes) continue;
    found = Found{std::move(minimum.joint.plan), variant, minimum.joint.live_limit, policy_,
                  std::move(minimum.joint.decided)};
  }
  const std::vector<int64_t> fewest_first(ends.rbegin(), ends.rend());
  for (const Policy& policy : all_policies()) {
    const Deadline deadline = found->arena() <= budget_ ? deadline_ : Deadline();
    if (found->arena() <= bound || deadline.passed()) break;
    if (policy.searches || !policy.share_memory) continue;
    PLIMSOLL_ASSIGN(std::optional<Found> less, recipe(policy, may_split, deadline).minimum_below(std::min(below, found->arena()), fewest_first));
    if (less) found = std::move(less);
  }
  return {};
}

// Also sets the minimum plan with slices. Null: slices gain nothing, or there are several ranks, whose weights are
// updated whole. None of this depends on the budget, so a larger budget never gives a slower plan.
Result<Variants*> Planning::variants_in_slices() {
  return find_less_in_slices(ends_of(sub_batches(may_split())), minimum_->arena(), minimum_in_slices_);
}

// Sets `found` if some sub-batch needs less than `below` with slices. Null: none does.
Result<Variants*> Planning::find_less_in_slices(std::span<const int64_t> ends, int64_t below, std::optional<Found>& found) {
  if (!may_gain_by_slices(variants_.graph(), below)) return static_cast<Variants*>(nullptr);
  Variants* const slices = variants_.in_slices(false);
  if (!slices) return slices;
  bool less = false;
  for (const int64_t size : ends) {
    PLIMSOLL_ASSIGN(const Candidate* variant, slices->candidate(size));
    PLIMSOLL_ASSIGN(MinimumPlan minimum, minimum_plan(*variant, policy_, host_budget_));
    if (below <= minimum.joint.plan.summary.arena_bytes || !fits_host(minimum.joint.plan.summary.host_pool_bytes))
      continue;
    below = minimum.joint.plan.summary.arena_bytes;
    found = Found{std::move(minimum.joint.plan), variant, minimum.joint.live_limit, policy_,
                  std::move(minimum.joint.decided)};
    less = true;
  }
  return less ? slices : nullptr;
}

// A deadline reserves time for making plans of the schedules found.
Result<Found> Planning::choose_jointly(const Found& unconstrained) {
  PLIMSOLL_ASSIGN(minimum_, find_minimum(unconstrained));
  PLIMSOLL_ASSIGN(Variants* const slices, variants_in_slices());
  const bool fits_whole = minimum_->arena() <= budget_;
  Found known = fits_whole || !slices ? *minimum_ : *minimum_in_slices_;
  if (slices) minimum_ = *minimum_in_slices_;
  if (minimum_->arena() > budget_) return refused();
  const std::vector<int64_t> sizes = sub_batches(may_split());
  if (budget_ == kNoLimit && sizes.front() == request_.batch && variants_.graph().ranks == 1) return unconstrained;
  const bool free = sizes.front() == request_.batch && unconstrained.arena() <= budget_;
  const SelectionLimits limits = {.budget_bytes = budget_, .host_budget_bytes = host_budget_, .effort = request_.effort, .threads = request_.threads, .search = deadline_.sooner(kPlansReserved * one_plan_seconds_),
                              .deadline = deadline_};
  Selection selection{.best = free ? unconstrained : std::move(known), .bound_seconds = std::numeric_limits<double>::infinity()};
  // With several ranks, also search the order in which the whole batch is fastest, since it may differ (recipe.h).
  Policy as_whole = policy_;
  as_whole.order = unconstrained.policy.order;
  const auto look_at = [&](Variants& variants, int effort, const Policy& policy) -> Status {
    const double others = selection.bound_seconds;
    const bool bound = selection.host_budget_binds;
    SelectionLimits with_effort = limits;
    with_effort.effort = effort;
    PLIMSOLL_ASSIGN(selection, select_variant(variants, policy, sizes, with_effort, std::move(selection.best)));
    selection.bound_seconds = std::min(selection.bound_seconds, others);
    selection.host_budget_binds |= bound;
    return {};
  };
  const bool much_state = slices && has_much_state(variants_.graph(), unconstrained.arena());
  Variants* const state = much_state ? variants_.in_slices(true) : nullptr;
  // Results of lower efforts are considered too, so that more effort never gives a slower plan. Without a time limit
  // the highest effort runs first: afterwards most lower-effort schedules need no placement. With a time limit the
  // lowest effort runs first, because a search descends from large to small memory and a long one may not reach this
  // budget in time.
  std::vector<int> efforts(static_cast<size_t>(request_.effort) + 1);
  std::iota(efforts.begin(), efforts.end(), 0);
  if (request_.time_limit_seconds <= 0) std::reverse(efforts.begin(), efforts.end());
  double bound_seconds = 0;
  for (const int effort : efforts) {
    if (effort != efforts.front() && limits.search.passed()) break;
    selection.bound_seconds = std::numeric_limits<double>::infinity();
    if (state) PLIMSOLL_TRY(look_at(*state, effort, policy_));
    if (fits_whole) PLIMSOLL_TRY(look_at(variants_, effort, policy_));
    if (fits_whole && as_whole.order != policy_.order) PLIMSOLL_TRY(look_at(variants_, effort, as_whole));
    if (slices) PLIMSOLL_TRY(look_at(*slices, effort, policy_));
    bound_seconds = std::max(bound_seconds, selection.bound_seconds);
  }
  selection.bound_seconds = bound_seconds;
  const auto rival_recipe = [&](const Policy& policy, const Deadline& deadline) {
    return recipe(policy, may_split(), deadline);
  };
  PLIMSOLL_TRY(take_faster_recipes(selection.best, rival_recipe, request_.threads, deadline_));
  if (deadline_.passed() && request_.cut_short) request_.cut_short();
  if (selection.host_budget_binds && request_.host_budget_binds) request_.host_budget_binds();
  selection.best.plan.summary.bound_seconds = std::min(selection.bound_seconds, selection.best.seconds());
  return std::move(selection.best);
}

Status Planning::observe(const Found& found) {
  if (!request_.observe && !request_.timed) return {};
  const auto hear = [&](std::string_view pass, const Plan& plan, double seconds) {
    if (request_.observe) request_.observe(std::string(pass), plan);
    if (request_.timed) request_.timed(std::string(pass), seconds);
  };
  const schedule::Trace* decided = found.decided.empty() ? nullptr : &found.decided;
  const Result<Plan> again = plan_within(*found.candidate, found.policy, found.live_limit, hear, decided);
  return again.ok() ? Status() : Status(again.error());
}

// Limits are percents of the arena that policy `auto` calls unlimited, so that other policies are asked for the plans
// that they make on their own.
Status Planning::find_limits(const Found& whole) {
  if (budget_ == kNoLimit || (!policy_.schedule && !policy_.searches)) return {};
  int64_t all = whole.arena();
  if (!policy_.searches) {
    PLIMSOLL_ASSIGN(Policy searching, find_policy("auto"));
    if (request_.keep_order) searching.order = OrderKind::depth_first;
    PLIMSOLL_ASSIGN(const Found its_whole, recipe(searching).unconstrained(request_.batch));
    all = its_whole.arena();
  }
  limits_ = limits_within(budget_, all, variants_.graph().tasks.size());
  return {};
}

Result<Plan> Planning::run() {
  PLIMSOLL_TRY(check_request(request_, variants_));
  // Neither measurements nor making the first plan count against the time limit. Measurements of other sub-batches do,
  // because that search may be cut short.
  PLIMSOLL_TRY(variants_.candidate(request_.batch));
  if (request_.sub_batch > 0) PLIMSOLL_TRY(variants_.candidate(request_.sub_batch));
  if (request_.time_limit_seconds > 0) deadline_ = Deadline::in(request_.time_limit_seconds);
  const auto start = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(const Found whole, recipe(policy_).unconstrained(request_.batch));
  one_plan_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (request_.budget_bytes > 0) {
    budget_ = request_.budget_bytes;
  } else if (request_.budget_percent > 0) {
    PLIMSOLL_ASSIGN(const int64_t all, bytes_of_all(whole));
    budget_ = static_cast<int64_t>(static_cast<double>(all) * request_.budget_percent / 100);
  }
  PLIMSOLL_TRY(find_limits(whole));
  PLIMSOLL_ASSIGN(Found found, policy_.searches ? choose_jointly(whole) : choose(whole));
  PLIMSOLL_CHECK(fits_host(found.host_pool()), "a host pool is larger than its budget");
  PLIMSOLL_TRY(observe(found));

  Plan plan = std::move(found.plan);
  plan.generator = kGenerator;
  plan.model_name = request_.model_name;
  plan.model_sha256 = request_.model_sha256;
  plan.target_kind = request_.target_kind;
  plan.device = request_.device;
  plan.costs = request_.costs;
  plan.libraries = request_.libraries;
  plan.precision = request_.precision;
  plan.layout = request_.layout;
  plan.policy = policy_.name;
  plan.budget_bytes = budget_ == kNoLimit ? plan.summary.arena_bytes : budget_;
  if (host_budget_ != kNoLimit) plan.host_budget_bytes = host_budget_;
  plan.summary.minimum_bytes = minimum_->arena();
  plan.summary.unconstrained_bytes = whole.arena();
  plan.summary.unconstrained_seconds = whole.seconds();
  for (const std::vector<Choice>& choices : whole.candidate->choices.first)
    plan.summary.ideal_seconds += choices.front().seconds;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  plan.summary.planning_seconds = spent.count();
  return plan;
}

}  // namespace

Result<Plan> Planner::plan(const PlanRequest& request) {
  PLIMSOLL_ASSIGN(Policy policy, find_policy(request.policy));
  if (request.keep_order) policy.order = OrderKind::depth_first;
  return Planning(variants_, request, policy).run();
}

Result<Plan> make_plan(const TaskGraph& graph, Costs& costs, const PlanRequest& request) {
  return Planner(graph, costs, std::max<int64_t>(request.batch, 1)).plan(request);
}

}  // namespace plimsoll
