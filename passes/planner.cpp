#include "passes/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <list>
#include <utility>

#include "compiler/support/bytes.h"
#include "passes/budget.h"
#include "passes/considered.h"
#include "passes/forms.h"
#include "passes/infeasible.h"
#include "passes/inputs_ahead.h"
#include "passes/minimum.h"
#include "passes/policies.h"
#include "passes/recipe.h"
#include "passes/resume.h"
#include "passes/rivals.h"
#include "passes/select_variant.h"

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
  const bool splits = variants.graph().ranks > 1 || (request.sub_batch != 0 && request.sub_batch < request.batch);
  if (splits && variants.of_whole_batch())
    return Error{ExitCode::usage,
                 fmt::format("the batch of {} must stay whole, but {} splits it: {}",
                             request.batch * variants.graph().ranks,
                             variants.graph().ranks > 1 ? "--ranks" : "--sub-batch",
                             why_batch_is_whole(variants.graph()))};
  if (request.budget_bytes < 0 || request.budget_percent < 0 || !std::isfinite(request.budget_percent))
    return Error{ExitCode::usage, "the budget is negative"};
  if (request.host_budget_bytes < 0) return Error{ExitCode::usage, "the host budget is negative"};
  return check_bytes(variants.graph(), request.batch);
}

// The fastest plan of the search over all forms, or of the rivals (rivals.h). A deadline reserves time for making plans
// of the schedules found. Each form is searched only for plans that are faster than the best so far, so slow forms cost
// little.
Result<Found> best_of_search(Forms& forms) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const Planning& planning = forms.front().planning;
  const PlanRequest& request = planning.request;
  const std::vector<int64_t>& sizes = planning.sub_batches;
  const bool whole_batch = sizes.front() == request.batch;
  if (planning.budget_bytes == kNoLimit && whole_batch && planning.variants.graph().ranks == 1)
    return std::exchange(forms.front().unlimited, forms.front().unlimited.figures());

  double one_plan_seconds = 0;
  for (const Form& form : forms) one_plan_seconds = std::max(one_plan_seconds, form.planning.one_plan_seconds);
  Found best = take_start(forms);
  SelectionLimits limits = {.budget_bytes = planning.budget_bytes,
                            .host_budget_bytes = planning.host_budget_bytes,
                            .threads = request.threads,
                            .search = planning.deadline.sooner(kPlansReserved * one_plan_seconds),
                            .deadline = planning.deadline};
  bool host_budget_binds = false;
  double bound_seconds = 0;
  std::list<std::pair<const Form&, Rivals>> searched;
  for (const Form& form : forms)
    if (form.fits()) searched.emplace_back(form, form.planning);
  const std::vector<int> efforts = efforts_of(request);
  for (auto effort = efforts.begin(); effort != efforts.end(); ++effort) {
    if (effort != efforts.begin() && limits.search.passed()) break;
    limits.effort = *effort;
    limits.later_efforts.assign(std::next(effort), efforts.end());
    double bound = kNever;
    for (auto& [form, rivals] : searched) {
      limits.idle = [&limits, &rivals = rivals](double seconds) { return rivals.look_ahead(seconds, limits.deadline); };
      for (const auto& [graph, policy] : searched_variants(form.planning, form.unlimited, form.minimum)) {
        PLIMSOLL_ASSIGN(Selection selection,
                        select_variant(planning.searches, *graph, policy, sizes, limits, std::move(best)));
        best = std::move(selection.best);
        bound = std::min(bound, selection.bound_seconds);
        host_budget_binds |= selection.host_budget_binds;
      }
    }
    bound_seconds = std::max(bound_seconds, bound);
  }
  for (auto& [form, rivals] : searched) PLIMSOLL_TRY(rivals.take_faster(best, planning.deadline));
  if (planning.deadline.passed() && request.cut_short) request.cut_short();
  if (host_budget_binds && request.host_budget_binds) request.host_budget_binds();
  best.plan.summary.bound_seconds = std::min(bound_seconds, best.seconds());
  return best;
}

// The figures that compare the plan with others: the minimum, the unlimited plan, the lower bound.
SearchFigures figures_of(const Forms& forms, const Found& best) {
  const Planning& planning = forms.front().planning;
  const Found& unlimited = forms.front().unlimited;
  SearchFigures figures{.minimum_bytes = least_form(forms).minimum.least().arena(),
                        .unconstrained_bytes = unlimited_bytes(planning, unlimited, planning.request.batch),
                        .unconstrained_seconds = unlimited.seconds(),
                        .bound_seconds = best.plan.summary.bound_seconds,
                        .forms = chosen_form(forms, best.candidate->graph->forms)};
  if (planning.budget_bytes != kNoLimit) figures.budget_bytes = planning.budget_bytes;
  if (planning.host_budget_bytes != kNoLimit) figures.host_budget_bytes = planning.host_budget_bytes;
  for (const std::vector<Choice>& choices : unlimited.candidate->choices.first)
    figures.ideal_seconds += choices.front().seconds;
  return figures;
}

// Makes the unlimited plan of each form and puts the fastest first: it is the one that a budget in percent refers to,
// and that a plan calls unlimited. Then sets the budget, and finds each minimum.
Status prepare_forms(Forms& forms) {
  for (Form& form : forms) {
    const auto start = std::chrono::steady_clock::now();
    Planning& planning = form.planning;
    std::future<Result<Found>> minimum;
    if (planning.policy.searches && planning.request.threads > 1)
      minimum = std::async(std::launch::async, first_minimum, std::cref(planning));
    PLIMSOLL_ASSIGN(form.unlimited, Recipe(planning, planning.policy).unlimited(planning.request.batch));
    planning.one_plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (minimum.valid()) {
      PLIMSOLL_ASSIGN(form.first_minimum, minimum.get());
    }
  }
  const auto size_of = [](const Form& form) { return std::pair(form.unlimited.seconds(), form.unlimited.arena()); };
  forms.sort([&](const Form& one, const Form& other) { return size_of(one) < size_of(other); });
  PLIMSOLL_ASSIGN(const int64_t budget_bytes, find_budget(forms.front().planning, forms.front().unlimited));
  for (Form& form : forms) {
    form.planning.budget_bytes = budget_bytes;
    PLIMSOLL_TRY(set_limits(form.planning, form.unlimited));
    PLIMSOLL_ASSIGN(form.minimum,
                    find_minimum(form.planning, form.unlimited, std::exchange(form.first_minimum, std::nullopt)));
  }
  return {};
}

// Reports each pass to the request's observers. Sets `stopped` if they stop the passes. `unfinished`: what they get,
// apart from the plan and the name of the pass.
PassObserver observer_of(const PlanRequest& request, UnfinishedPlan unfinished, bool& stopped) {
  return [&request, &stopped, unfinished = std::move(unfinished)](std::string_view pass, const Plan& plan,
                                                                  double seconds) mutable {
    if (request.timed) request.timed(std::string(pass), seconds);
    if (pass == kSchedulePass) unfinished.schedule = {};
    if (!request.observe) return true;
    unfinished.after = pass;
    unfinished.plan = plan;
    stopped = !request.observe(unfinished);
    return !stopped;
  };
}

// Repeats the passes of the plan for the request's observers. Returns the unfinished plan if they stop the passes.
Result<std::optional<Plan>> observe(const PlanRequest& request, const Found& found, const SearchFigures& figures) {
  if (!request.observe && !request.timed) return std::optional<Plan>();
  bool stopped = false;
  const PassObserver observer = observer_of(request, unfinished_of(found, figures), stopped);
  PLIMSOLL_ASSIGN(Plan again, plan_within(*found.candidate, found.policy, found.live_limit, observer));
  return stopped ? std::optional(std::move(again)) : std::nullopt;
}

// Adds the names that identify the plan, its budgets, and the figures that compare it with other plans.
Plan finish(const PlanRequest& request, const Policy& policy, const TaskGraph& graph, Plan plan,
            const SearchFigures& figures) {
  plan.generator = kGenerator;
  plan.model_name = request.model_name;
  plan.model_sha256 = request.model_sha256;
  plan.target_kind = request.target_kind;
  plan.device = request.device;
  plan.costs = request.costs;
  plan.libraries = request.libraries;
  plan.precision = request.precision;
  plan.optimizer_state = request.optimizer_state;
  plan.forms = figures.forms;
  plan.layout = graph.layout;
  plan.policy = policy.name;
  const bool unlimited = figures.budget_bytes < 0;
  if (request.inputs_ahead && policy.searches)
    place_inputs_ahead(plan, graph, unlimited ? kNoLimit : figures.budget_bytes);
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

// Neither measurements nor making the first plan count against the time limit. Measurements of other sub-batches do,
// because that search may be cut short.
Result<Plan> serve(Forms forms) {
  const PlanRequest& request = forms.front().planning.request;
  const Policy& policy = forms.front().planning.policy;
  for (Form& form : forms) {
    Variants& variants = form.planning.variants;
    PLIMSOLL_TRY(check_request(request, variants));
    form.planning.sub_batches = considered_sub_batches(request, variants);
    variants.use_threads(request.threads);
    std::future<void> seed;
    if (request.threads > 1) seed = std::async(std::launch::async, [&] { variants.prepare_seed(); });
    PLIMSOLL_TRY(variants.candidate(request.batch));
    if (request.sub_batch > 0) PLIMSOLL_TRY(variants.candidate(request.sub_batch));
  }
  if (request.time_limit_seconds > 0) {
    const Deadline deadline = Deadline::in(request.time_limit_seconds);
    for (Form& form : forms) form.planning.deadline = deadline;
  }
  const auto start = std::chrono::steady_clock::now();

  PLIMSOLL_TRY(prepare_forms(forms));
  const Form& first = forms.front();
  const Form& least = least_form(forms);
  if (!least.fits()) {
    PLIMSOLL_ASSIGN(const Remedies remedies, find_remedies(least.planning, least.minimum.least()));
    return infeasible(least.planning, least.minimum.least(), remedies);
  }
  PLIMSOLL_ASSIGN(Found best, policy.searches
                                  ? best_of_search(forms)
                                  : Recipe(first.planning, policy).choose(first.unlimited, first.minimum.least()));
  PLIMSOLL_CHECK(first.planning.fits_host(best), "a host pool is larger than its budget");
  const SearchFigures figures = figures_of(forms, best);
  const TaskGraph& graph = *best.candidate->graph;
  if (request.chosen) request.chosen(graph.forms);
  PLIMSOLL_ASSIGN(std::optional<Plan> stopped, observe(request, best, figures));
  if (stopped) return std::move(*stopped);
  Plan plan = finish(request, policy, graph, std::move(best.plan), figures);
  plan.summary.planning_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace

Planner::Planner(TaskGraph graph, Costs& costs, int64_t batch)
    : Planner(std::vector{std::move(graph)}, costs, batch) {}
Planner::Planner(std::vector<TaskGraph> forms, Costs& costs, int64_t batch) : searches_(std::make_unique<Searches>()) {
  for (TaskGraph& graph : forms) forms_.push_back(std::make_unique<Variants>(std::move(graph), costs, batch));
}
Planner::~Planner() = default;
Variants& Planner::form_of(const FormsOfParts& forms) const {
  const auto is_in = [&](const auto& of_part) {
    const auto found = forms.find(of_part.first);
    return found != forms.end() && found->second.starts_with(of_part.second);
  };
  // A form that is plain in a part does not name it, so the one that names the most parts is meant.
  Variants* found = forms_.front().get();
  size_t most = 0;
  for (const std::unique_ptr<Variants>& form : forms_)
    if (const FormsOfParts& own = form->graph().forms;
        own.size() > most && std::all_of(own.begin(), own.end(), is_in)) {
      found = form.get();
      most = own.size();
    }
  return *found;
}

const TaskGraph& Planner::graph(const FormsOfParts& forms) const { return form_of(forms).graph(); }
TaskGraph Planner::take_graph(const FormsOfParts& forms) { return form_of(forms).take_graph(); }

Result<Plan> Planner::plan(const PlanRequest& request) {
  PLIMSOLL_ASSIGN(const Policy policy, policy_of(request));
  Forms forms;
  for (const std::unique_ptr<Variants>& form : forms_) {
    forms.push_back({.planning = {.variants = *form,
                                  .searches = *searches_,
                                  .request = request,
                                  .policy = policy,
                                  .host_budget_bytes = request.host_budget_bytes}});
    if (!policy.searches) break;
  }
  return serve(std::move(forms));
}

Result<Plan> Planner::plan_from(const UnfinishedPlan& unfinished, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(const Policy policy, policy_of(request));
  Variants& variants = form_of(unfinished.figures.forms);
  PLIMSOLL_TRY(check_request(request, variants));
  bool stopped = false;
  PLIMSOLL_ASSIGN(Plan plan, resume(variants, unfinished, observer_of(request, unfinished, stopped)));
  return stopped ? std::move(plan) : finish(request, policy, variants.graph(), std::move(plan), unfinished.figures);
}

}  // namespace plimsoll
