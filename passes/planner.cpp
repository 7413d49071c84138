#include "passes/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <list>

#include "compiler/support/bytes.h"
#include "passes/budget.h"
#include "passes/considered.h"
#include "passes/infeasible.h"
#include "passes/inputs_ahead.h"
#include "passes/minimum.h"
#include "passes/policies.h"
#include "passes/resume.h"
#include "passes/select_variant.h"
#include "passes/thread_pool.h"

namespace plimsoll {
namespace {

constexpr double kPlansReserved = 2;  // a search under a deadline reserves the time of this many plans
constexpr const char* kGenerator = "plimsoll 0.1.0";
// Of all tensors together. Sums over a plan count a tensor once for each time that it is computed or copied, and in 63
// bits there is room for a hundred times.
constexpr int64_t kMostBytes = int64_t{1} << 56;

// Each tensor has at most kElementLimit elements, but a graph may have any number of them.
Status check_bytes(const TaskGraph& graph, int64_t batch) {
  int64_t sum = 0;
  for (const Tensor& tensor : graph.tensors) {
    const int64_t bytes = tensor.bytes(batch);
    if (bytes > kMostBytes - sum)
      return Error{ExitCode::invalid_model,
                   fmt::format("the tensors of a batch of {}, up to '{}', take more than {} bytes together; make the "
                               "batch or the network smaller",
                               batch, tensor.name, format_grouped(kMostBytes))};
    sum += bytes;
  }
  return {};
}

Status check_request(const PlanRequest& request, const Variants& variants) {
  if (request.batch < 1) return Error{ExitCode::usage, fmt::format("batch is {}; expected at least 1", request.batch)};
  if (request.sub_batch < 0 || request.sub_batch > request.batch)
    return Error{ExitCode::usage,
                 fmt::format("sub-batch is {}; expected 1 to the batch of {}", request.sub_batch, request.batch)};
  const Task* const whole = variants.of_whole_batch();
  if (whole && (variants.graph().ranks > 1 || (request.sub_batch != 0 && request.sub_batch < request.batch)))
    return Error{ExitCode::usage,
                 fmt::format("the batch of {} must stay whole, but {} splits it: layer '{}' ({}) does not sum over "
                             "samples, so the loss of the batch is not the sum of the losses of its parts",
                             request.batch * variants.graph().ranks,
                             variants.graph().ranks > 1 ? "--ranks" : "--sub-batch", whole->layer, whole->op)};
  if (request.budget_bytes < 0 || request.budget_percent < 0 || !std::isfinite(request.budget_percent))
    return Error{ExitCode::usage, "the budget is negative"};
  if (request.host_budget_bytes < 0) return Error{ExitCode::usage, "the host budget is negative"};
  return check_bytes(variants.graph(), request.batch);
}

// `best` becomes the fastest plan of the policies of the literature, if that is faster: `auto` is never slower than any
// of them. Each is compared with the search alone, so they can run in parallel without affecting the result.
Status take_faster_recipes(const Planning& planning, Found& best) {
  struct Rival {
    WorkItem* asked = nullptr;
    std::optional<Found> faster = {};
    Status status = {};
  };
  std::list<Rival> rivals;
  const double seconds = best.seconds();
  ThreadPool pool(planning.request.threads);
  for (const Policy& policy : all_policies()) {
    if (policy.searches || !policy.share_memory) continue;
    Rival& rival = rivals.emplace_back();
    rival.asked = &pool.add(static_cast<double>(rivals.size()), [&, seconds](const std::stop_token& stop) {
      Result<std::optional<Found>> faster =
          planning.recipe(policy, planning.may_split(), planning.deadline.unless(stop)).rival(seconds);
      if (faster.ok()) rival.faster = std::move(*faster);
      else rival.status = faster.error();
      return false;
    });
  }
  for (Rival& rival : rivals) {
    if (planning.deadline.passed()) break;
    pool.reach(*rival.asked, 1);
    PLIMSOLL_TRY(rival.status);
    if (rival.faster && rival.faster->seconds() < best.seconds()) best = std::move(*rival.faster);
  }
  return {};
}

// The best of the search, and the fastest of the recipes if that is faster. A deadline reserves time for making plans
// of the schedules found.
Result<Found> best_of_search(const Planning& planning, const Found& unlimited, const Minimum& minimum) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const PlanRequest& request = planning.request;
  const std::vector<int64_t> sizes = planning.sub_batches();
  const bool whole_batch = sizes.front() == request.batch;
  if (planning.budget_bytes == kNoLimit && whole_batch && planning.variants.graph().ranks == 1) return unlimited;

  const bool free = whole_batch && unlimited.arena() <= planning.budget_bytes;
  const bool fits_whole = minimum.whole.arena() <= planning.budget_bytes;
  Found best = free ? unlimited : fits_whole ? minimum.whole : minimum.least();
  SelectionLimits limits = {.budget_bytes = planning.budget_bytes,
                            .host_budget_bytes = planning.host_budget(),
                            .threads = request.threads,
                            .search = planning.deadline.sooner(kPlansReserved * planning.one_plan_seconds),
                            .deadline = planning.deadline};
  const std::vector<Searched> searched = searched_variants(planning, unlimited, minimum);
  bool host_budget_binds = false;
  double bound_seconds = 0;
  for (const int effort : efforts_of(request)) {
    if (effort != efforts_of(request).front() && limits.search.passed()) break;
    limits.effort = effort;
    double bound = kNever;
    for (const auto& [graph, policy] : searched) {
      PLIMSOLL_ASSIGN(Selection selection,
                      select_variant(planning.searches, *graph, policy, sizes, limits, std::move(best)));
      best = std::move(selection.best);
      bound = std::min(bound, selection.bound_seconds);
      host_budget_binds |= selection.host_budget_binds;
    }
    bound_seconds = std::max(bound_seconds, bound);
  }
  PLIMSOLL_TRY(take_faster_recipes(planning, best));
  if (planning.deadline.passed() && request.cut_short) request.cut_short();
  if (host_budget_binds && request.host_budget_binds) request.host_budget_binds();
  best.plan.summary.bound_seconds = std::min(bound_seconds, best.seconds());
  return best;
}

// The figures of the plan that other plans decide.
SearchFigures figures_of(const Planning& planning, const Found& best, const Found& unlimited, const Found& minimum) {
  SearchFigures figures{.minimum_bytes = minimum.arena(),
                        .unconstrained_bytes = unlimited_bytes(planning, unlimited, planning.request.batch),
                        .unconstrained_seconds = unlimited.seconds(),
                        .bound_seconds = best.plan.summary.bound_seconds};
  if (planning.budget_bytes != kNoLimit) figures.budget_bytes = planning.budget_bytes;
  if (planning.host_budget() != kNoLimit) figures.host_budget_bytes = planning.host_budget();
  for (const std::vector<Choice>& choices : unlimited.candidate->choices.first)
    figures.ideal_seconds += choices.front().seconds;
  return figures;
}

// Passes on what the passes do to the request's observers. `told` is what a pass leaves, but for the plan.
class Observers {
 public:
  Observers(const PlanRequest& request, UnfinishedPlan told) : request_(request), told_(std::move(told)) {}

  bool stopped() const { return stopped_; }
  PassObserver hear() {
    return [this](std::string_view pass, const Plan& plan, double seconds) {
      if (request_.timed) request_.timed(std::string(pass), seconds);
      if (pass == kSchedulePass) told_.schedule = {};
      if (!request_.observe) return true;
      told_.after = pass;
      told_.plan = plan;
      stopped_ = !request_.observe(told_);
      return !stopped_;
    };
  }

 private:
  const PlanRequest& request_;
  UnfinishedPlan told_;
  bool stopped_ = false;
};

// Makes the plan again for the request's observers. Returns what they stopped at.
Result<std::optional<Plan>> observe(const PlanRequest& request, const Found& found, const SearchFigures& figures) {
  if (!request.observe && !request.timed) return std::optional<Plan>();
  Observers observers(request, unfinished_of(found, figures));
  PLIMSOLL_ASSIGN(Plan again, plan_within(*found.candidate, found.policy, found.live_limit, observers.hear()));
  return observers.stopped() ? std::optional(std::move(again)) : std::nullopt;
}

// Adds what identifies the plan, and what it is compared with.
Plan finish(const PlanRequest& request, const Policy& policy, Plan plan, const SearchFigures& figures) {
  plan.generator = kGenerator;
  plan.model_name = request.model_name;
  plan.model_sha256 = request.model_sha256;
  plan.target_kind = request.target_kind;
  plan.device = request.device;
  plan.costs = request.costs;
  plan.libraries = request.libraries;
  plan.precision = request.precision;
  plan.optimizer_state = request.optimizer_state;
  plan.layout = request.layout;
  plan.policy = policy.name;
  const bool unlimited = figures.budget_bytes < 0;
  if (request.inputs_ahead && policy.searches) place_inputs_ahead(plan, unlimited ? kNoLimit : figures.budget_bytes);
  plan.budget_bytes = unlimited ? plan.summary.arena_bytes : figures.budget_bytes;
  plan.host_budget_bytes = figures.host_budget_bytes;
  plan.summary.minimum_bytes = figures.minimum_bytes;
  plan.summary.unconstrained_bytes = figures.unconstrained_bytes;
  plan.summary.unconstrained_seconds = figures.unconstrained_seconds;
  plan.summary.ideal_seconds = figures.ideal_seconds;
  plan.summary.bound_seconds = figures.bound_seconds;
  return plan;
}

// The policy that a request names.
Result<Policy> policy_of(const PlanRequest& request) {
  PLIMSOLL_ASSIGN(Policy policy, find_policy(request.policy));
  if (request.keep_order) policy.order = OrderKind::depth_first;
  return policy;
}

Result<Plan> serve(Planning planning);

// Plans again under another host budget, without observers.
Result<bool> works_with(const Planning& planning, int64_t host_budget) {
  PlanRequest request = planning.request;
  request.observe = {};
  request.timed = {};
  request.cut_short = request.host_budget_binds = {};
  request.host_budget_bytes = host_budget;
  request.budget_bytes = planning.budget_bytes == kNoLimit ? 0 : planning.budget_bytes;
  request.budget_percent = 0;
  const Result<Plan> plan = serve({.variants = planning.variants,
                                   .searches = planning.searches,
                                   .request = request,
                                   .policy = planning.policy,
                                   .trial = true});
  if (!plan.ok() && plan.error().code != ExitCode::budget_infeasible) return plan.error();
  return plan.ok();
}

Error refuse(const Planning& planning, const Found& minimum) {
  if (planning.trial) return infeasible(planning, minimum, {});
  const auto works = [&](int64_t host_budget) { return works_with(planning, host_budget); };
  const Result<Remedies> remedies = find_remedies(planning, minimum, works);
  return remedies.ok() ? infeasible(planning, minimum, *remedies) : remedies.error();
}

// Neither measurements nor making the first plan count against the time limit. Measurements of other sub-batches do,
// because that search may be cut short.
Result<Plan> serve(Planning planning) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto seconds_since = [&](auto start) { return std::chrono::duration<double>(now() - start).count(); };
  const PlanRequest& request = planning.request;
  PLIMSOLL_TRY(check_request(request, planning.variants));
  PLIMSOLL_TRY(planning.variants.candidate(request.batch));
  if (request.sub_batch > 0) PLIMSOLL_TRY(planning.variants.candidate(request.sub_batch));
  if (request.time_limit_seconds > 0) planning.deadline = Deadline::in(request.time_limit_seconds);
  const auto start = now();

  PLIMSOLL_ASSIGN(const Found unlimited, planning.recipe(planning.policy).unconstrained(request.batch));
  planning.one_plan_seconds = seconds_since(start);
  PLIMSOLL_TRY(resolve_budget(planning, unlimited));
  PLIMSOLL_ASSIGN(const Minimum minimum, find_minimum(planning, unlimited));
  if (!planning.fits(minimum.least())) return refuse(planning, minimum.least());
  PLIMSOLL_ASSIGN(Found best, planning.policy.searches
                                  ? best_of_search(planning, unlimited, minimum)
                                  : planning.recipe(planning.policy).choose(unlimited, minimum.least()));
  PLIMSOLL_CHECK(planning.fits_host(best.host_pool()), "a host pool is larger than its budget");
  const SearchFigures figures = figures_of(planning, best, unlimited, minimum.least());
  PLIMSOLL_ASSIGN(std::optional<Plan> stopped, observe(request, best, figures));
  if (stopped) return std::move(*stopped);
  Plan plan = finish(request, planning.policy, std::move(best.plan), figures);
  plan.summary.planning_seconds = seconds_since(start);
  return plan;
}

}  // namespace

Planner::Planner(TaskGraph graph, Costs& costs, int64_t batch)
    : variants_(std::make_unique<Variants>(std::move(graph), costs, batch)), searches_(std::make_unique<Searches>()) {}
Planner::~Planner() = default;
const TaskGraph& Planner::graph() const { return variants_->graph(); }
TaskGraph Planner::take_graph() { return variants_->take_graph(); }

Result<Plan> Planner::plan(const PlanRequest& request) {
  PLIMSOLL_ASSIGN(const Policy policy, policy_of(request));
  return serve({.variants = *variants_, .searches = *searches_, .request = request, .policy = policy});
}

Result<Plan> Planner::plan_from(const UnfinishedPlan& unfinished, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(const Policy policy, policy_of(request));
  PLIMSOLL_TRY(check_request(request, *variants_));
  Observers observers(request, unfinished);
  PLIMSOLL_ASSIGN(Plan plan, resume(*variants_, unfinished, observers.hear()));
  return observers.stopped() ? std::move(plan) : finish(request, policy, std::move(plan), unfinished.figures);
}

Result<Plan> make_plan(const TaskGraph& graph, Costs& costs, const PlanRequest& request) {
  return Planner(graph, costs, std::max<int64_t>(request.batch, 1)).plan(request);
}

}  // namespace plimsoll
