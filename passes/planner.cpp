#include "passes/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "passes/candidate.h"
#include "passes/explain.h"
#include "passes/joint.h"

namespace plimsoll {
namespace {

constexpr double kBearable = 2;  // times the unconstrained iteration

constexpr const char* kGenerator = "plimsoll 0.1.0";

// A plan, and what led to it, so that the winner can be made once more for an observer.
struct Found {
  Plan plan;
  const Candidate* candidate = nullptr;
  int64_t live_limit = kNoLimit;
  Policy policy = {};
  schedule::Trace decided = {};
  double seconds() const { return plan.summary.iteration_seconds; }
  int64_t arena() const { return plan.summary.arena_bytes; }
};

class Planner {
 public:
  Planner(const TaskGraph& graph, Costs& costs, const PlanRequest& request, const Policy& policy)
      : graph_(graph), costs_(costs), request_(request), policy_(policy) {}

  Result<Plan> run();

 private:
  Status check_request() const;
  bool may_split() const { return request_.batch > 1 && !(request_.refuse_split_batch_norm && mixes_samples()); }
  bool mixes_samples() const {
    return std::any_of(graph_.tasks.begin(), graph_.tasks.end(), [](const Task& task) { return task.mixes_samples; });
  }
  const TaskGraph& graph_for(int64_t sub_batch);
  Result<const Candidate*> candidate(int64_t sub_batch);
  Result<Found> attempt(int64_t sub_batch, int64_t live_limit);
  Result<Found> unconstrained();
  Result<Found> fit(int64_t sub_batch);
  Result<Found> fewest_rounds();
  Result<Found> choose(const Found& unconstrained);
  Result<const Joint*> joint(int64_t sub_batch);
  Result<Found> choose_jointly(const Found& unconstrained);
  Status take_faster_recipes(Found& best);
  Error infeasible();
  Status observe(const Found& found);

  const TaskGraph& graph_;
  Costs& costs_;
  const PlanRequest& request_;
  const Policy& policy_;
  int64_t budget_ = kNoLimit;
  std::optional<TaskGraph> accumulating_;
  std::map<int64_t, Candidate> candidates_;
  std::map<int64_t, Joint> joints_;
  std::optional<Found> least_;  // the smallest arena that the request allows
};

Status Planner::check_request() const {
  if (request_.batch < 1) return Error{ExitCode::usage, fmt::format("batch is {} when it should be positive", request_.batch)};
  if (request_.sub_batch < 0 || request_.sub_batch > request_.batch)
    return Error{ExitCode::usage, fmt::format("sub-batch is {} when it should be between 1 and the batch of {}",
                                              request_.sub_batch, request_.batch)};
  if (request_.budget_bytes < 0 || request_.budget_percent < 0 || !std::isfinite(request_.budget_percent))
    return Error{ExitCode::usage, "the budget is negative"};
  const bool splits = request_.sub_batch != 0 && request_.sub_batch < request_.batch;
  if (splits && request_.refuse_split_batch_norm && mixes_samples()) {
    const auto task = std::find_if(graph_.tasks.begin(), graph_.tasks.end(), [](const Task& t) { return t.mixes_samples; });
    return Error{ExitCode::usage,
                 fmt::format("{}: computes over all samples of a round, so rounds of {} samples change what is trained, "
                             "and --refuse-split forbids it; leave out one of the two",
                             task->layer, request_.sub_batch)};
  }
  return {};
}

const TaskGraph& Planner::graph_for(int64_t sub_batch) {
  if (sub_batch == request_.batch) return graph_;
  if (!accumulating_) accumulating_ = accumulating(graph_);
  return *accumulating_;
}

Result<const Candidate*> Planner::candidate(int64_t sub_batch) {
  const auto known = candidates_.find(sub_batch);
  if (known != candidates_.end()) return &known->second;
  PLIMSOLL_ASSIGN(Candidate made, make_candidate(graph_for(sub_batch), costs_, request_.batch, sub_batch));
  return &candidates_.emplace(sub_batch, std::move(made)).first->second;
}

Result<Found> Planner::attempt(int64_t sub_batch, int64_t live_limit) {
  PLIMSOLL_ASSIGN(const Candidate* split, candidate(sub_batch));
  PLIMSOLL_ASSIGN(Plan plan, plan_within(*split, policy_, live_limit));
  return Found{std::move(plan), split, live_limit, policy_};
}

// Nothing moved, nothing run again, the fastest algorithms, at the full batch: what all budgets are measured against,
// whatever the policy.
Result<Found> Planner::unconstrained() {
  Policy policy = policy_;
  policy.schedule = nullptr;
  if (policy.share_memory) policy.algorithms = AlgorithmKind::fitting;
  PLIMSOLL_ASSIGN(const Candidate* whole, candidate(request_.batch));
  PLIMSOLL_ASSIGN(Plan plan, plan_within(*whole, policy, kNoLimit));
  return Found{std::move(plan), whole, kNoLimit, policy};
}

// Tries to meet the budget with this split. Workspaces are chosen by live bytes, and the arena may come out a little
// higher: then the limit on live bytes is lowered by as much, and in the end to the smallest workspaces.
// The result is over budget when nothing helps.
Result<Found> Planner::fit(int64_t sub_batch) {
  int64_t limit = budget_;
  for (int tries = 0; tries < 4; ++tries) {
    PLIMSOLL_ASSIGN(Found found, attempt(sub_batch, limit));
    if (found.arena() <= budget_) return found;
    if (found.plan.summary.live_bytes > budget_) break;  // workspaces are as small as they get at the peak
    limit = std::min(limit, found.plan.summary.live_bytes) - (found.arena() - budget_);
  }
  return attempt(sub_batch, 0);
}

double ideal_seconds(const Candidate& candidate) {
  double seconds = 0;
  for (const TaskId task : ids_of(candidate.graph->tasks)) {
    const Choice& fastest = candidate.choices[task].front();
    if (candidate.graph->tasks[task].kind == TaskKind::update) seconds += fastest.last_seconds;
    else seconds += static_cast<double>(candidate.rounds() - 1) * fastest.seconds + fastest.last_seconds;
  }
  return seconds;
}

// The batch cut evenly into r rounds, for each r the smallest sub-batch that needs no more rounds; fewest rounds first.
std::vector<int64_t> even_splits(int64_t batch) {
  std::vector<int64_t> sizes;
  for (int64_t size = (batch + 1) / 2; size >= 1;) {
    sizes.push_back(size);
    const int64_t rounds = (batch + size - 1) / size;
    size = std::min(size - 1, (batch + rounds) / (rounds + 1));
  }
  return sizes;
}

// Memory grows with the sub-batch, so the splits that fit are a tail of the list. Bytes without workspaces cost no
// profiling and cut most of the list away; the rest is bisected, starting where the cut is, since workspaces can
// usually be made small.
Result<Found> Planner::fewest_rounds() {
  const std::vector<int64_t> splits = even_splits(request_.batch);
  size_t low = 0, high = splits.size() - 1;  // the last fits, says the caller
  const auto hopeless = [&](int64_t size) {
    return !policy_.schedule && bytes_without_workspace(graph_for(size), policy_, request_.batch, size) > budget_;
  };
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (hopeless(splits[middle])) low = middle + 1;
    else high = middle;
  }
  PLIMSOLL_ASSIGN(Found best, fit(splits[low]));
  if (best.arena() <= budget_) return best;
  high = splits.size() - 1;
  PLIMSOLL_ASSIGN(best, fit(splits[high]));
  while (low + 1 < high) {
    const size_t middle = (low + high) / 2;
    PLIMSOLL_ASSIGN(Found found, fit(splits[middle]));
    if (found.arena() <= budget_) {
      best = std::move(found);
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

Error Planner::infeasible() {
  std::vector<std::string> ways_out;
  if (request_.sub_batch != 0 && request_.sub_batch > 1)
    ways_out.push_back(fmt::format("the sub-batch of {} was asked for; a smaller one, or the planner's choice, needs less",
                                   request_.sub_batch));
  if (request_.sub_batch == 0 && request_.batch > 1 && !may_split())
    ways_out.push_back("--refuse-split forbids rounds smaller than the batch; without it, or with a smaller "
                       "batch, less would do");
  if (!policy_.share_memory) ways_out.push_back("policy 'liveness' lets tensors share memory and needs less");
  ways_out.push_back(fmt::format("a budget of {} bytes works", least_->arena()));
  return explain_infeasible(least_->plan, *least_->candidate->graph, policy_, budget_, ways_out);
}

Result<Found> Planner::choose(const Found& unconstrained) {
  const int64_t batch = request_.batch;
  const int64_t first = request_.sub_batch == 0 ? batch : request_.sub_batch;
  PLIMSOLL_ASSIGN(least_, attempt(first, 0));
  // The smallest workspaces do not always make the smallest arena: placement may be luckier with others.
  const bool allowed = first == batch && !policy_.schedule;
  if (allowed && unconstrained.arena() < least_->arena()) least_ = unconstrained;
  if (policy_.schedule) {
    PLIMSOLL_ASSIGN(Found free, attempt(first, kNoLimit));
    if (free.arena() < least_->arena()) least_ = std::move(free);
  }
  if (request_.sub_batch == 0 && may_split()) {
    PLIMSOLL_ASSIGN(Found single, attempt(1, 0));
    if (single.arena() < least_->arena()) least_ = std::move(single);
  }
  if (budget_ == kNoLimit) return allowed ? unconstrained : attempt(first, kNoLimit);
  if (least_->arena() > budget_) return infeasible();

  if (allowed && unconstrained.arena() <= budget_) return unconstrained;
  PLIMSOLL_ASSIGN(Found whole, fit(first));
  if (whole.arena() <= budget_) return whole;
  if (least_->candidate->sub_batch == first) return *least_;
  PLIMSOLL_ASSIGN(Found split, fewest_rounds());
  return split.arena() <= budget_ ? split : *least_;
}

Result<const Joint*> Planner::joint(int64_t sub_batch) {
  const auto known = joints_.find(sub_batch);
  if (known != joints_.end()) return &known->second;
  PLIMSOLL_ASSIGN(const Candidate* split, candidate(sub_batch));
  return &joints_.try_emplace(sub_batch, *split, policy_, request_.effort).first->second;
}

// Sub-batches that are worth a search: the whole batch, and even splits with clearly more rounds each.
std::vector<int64_t> worthwhile_splits(int64_t batch) {
  std::vector<int64_t> sizes = {batch};
  for (const int64_t size : even_splits(batch))
    if (4 * size <= 3 * sizes.back() || size == 1) sizes.push_back(size);
  if (sizes.back() == batch && batch == 1) sizes.resize(1);
  return sizes;
}

// Fewer rounds come first, and a smaller sub-batch is searched only if it could be faster: when its tasks at their
// fastest would be. Where a task mixes samples, splitting changes what is trained: then only when nothing else fits, or
// what does is too slow to be what anyone wants (--refuse-split insists).
Result<Found> Planner::choose_jointly(const Found& unconstrained) {
  std::vector<int64_t> sizes = worthwhile_splits(request_.batch);
  if (!may_split()) sizes.resize(1);
  if (request_.sub_batch != 0) sizes = {request_.sub_batch};
  for (const int64_t size : {sizes.front(), sizes.back()}) {
    PLIMSOLL_ASSIGN(const Candidate* split, candidate(size));
    PLIMSOLL_ASSIGN(JointPlan least, least_plan(*split, policy_));
    if (least_ && least_->arena() <= least.plan.summary.arena_bytes) continue;
    least_ = Found{std::move(least.plan), split, least.live_limit, policy_, std::move(least.decided)};
  }
  if (least_->arena() > budget_) return infeasible();
  if (budget_ == kNoLimit && sizes.front() == request_.batch) return unconstrained;
  bool found = sizes.front() == request_.batch && unconstrained.arena() <= budget_;
  Found best = found ? unconstrained : *least_;
  bool whole_will_do = found;
  double bound = std::numeric_limits<double>::infinity();
  for (const int64_t size : sizes) {
    if (size != sizes.front() && mixes_samples() && whole_will_do) break;
    PLIMSOLL_ASSIGN(const Candidate* split, candidate(size));
    if (found && ideal_seconds(*split) >= best.seconds()) break;  // which the bound of this split is above, too
    PLIMSOLL_ASSIGN(const Joint* schedules, joint(size));
    bound = std::min(bound, schedules->bound_seconds(budget_));
    PLIMSOLL_ASSIGN(std::optional<JointPlan> faster,
                    schedules->fastest(budget_, found ? best.seconds() : std::numeric_limits<double>::infinity()));
    if (!faster) continue;
    best = {std::move(faster->plan), split, faster->live_limit, policy_, std::move(faster->decided)};
    found = true;
    whole_will_do |= size == sizes.front() && best.seconds() <= kBearable * unconstrained.seconds();
  }
  PLIMSOLL_TRY(take_faster_recipes(best));
  best.plan.summary.bound_seconds = std::min(bound, best.seconds());
  return best;
}

// However good the search, a policy of the literature may have been luckier: its plan is taken then, so that `auto` is
// never slower than any of them.
Status Planner::take_faster_recipes(Found& best) {
  for (const Policy& recipe : all_policies()) {
    if (recipe.searches || !recipe.share_memory) continue;
    PlanRequest request = request_;
    request.policy = recipe.name;
    request.observe = {};
    request.timed = {};
    Planner other(graph_, costs_, request, recipe);
    other.budget_ = budget_;
    PLIMSOLL_ASSIGN(const Found whole, other.unconstrained());
    Result<Found> found = other.choose(whole);
    if (!found.ok() || found->arena() > budget_ || found->seconds() >= best.seconds()) continue;
    if (mixes_samples() && best.plan.rounds == 1 && found->plan.rounds > 1) continue;
    PLIMSOLL_ASSIGN(const Candidate* split, candidate(found->plan.sub_batch));
    best = std::move(*found);
    best.candidate = split;
  }
  return {};
}

Status Planner::observe(const Found& found) {
  if (!request_.observe && !request_.timed) return {};
  const auto hear = [&](std::string_view pass, const Plan& plan, double seconds) {
    if (request_.observe) request_.observe(std::string(pass), plan);
    if (request_.timed) request_.timed(std::string(pass), seconds);
  };
  const schedule::Trace* decided = found.decided.empty() ? nullptr : &found.decided;
  const Result<Plan> again = plan_within(*found.candidate, found.policy, found.live_limit, hear, decided);
  return again.ok() ? Status() : Status(again.error());
}

Result<Plan> Planner::run() {
  PLIMSOLL_TRY(check_request());
  const auto start = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(const Found whole, unconstrained());
  if (request_.budget_bytes > 0) budget_ = request_.budget_bytes;
  else if (request_.budget_percent > 0)
    budget_ = static_cast<int64_t>(static_cast<double>(whole.arena()) * request_.budget_percent / 100);
  PLIMSOLL_ASSIGN(Found found, policy_.searches ? choose_jointly(whole) : choose(whole));
  PLIMSOLL_TRY(observe(found));

  Plan plan = std::move(found.plan);
  plan.generator = kGenerator;
  plan.model_name = request_.model_name;
  plan.model_sha256 = request_.model_sha256;
  plan.target_kind = request_.target_kind;
  plan.device = request_.device;
  plan.costs = request_.costs;
  plan.libraries = request_.libraries;
  plan.policy = policy_.name;
  plan.budget_bytes = budget_ == kNoLimit ? plan.summary.arena_bytes : budget_;
  plan.summary.minimum_bytes = least_->arena();
  plan.summary.unconstrained_bytes = whole.arena();
  for (const std::vector<Choice>& choices : whole.candidate->choices)
    plan.summary.ideal_seconds += choices.front().seconds;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  plan.summary.planning_seconds = spent.count();
  return plan;
}

}  // namespace

Result<Plan> make_plan(const TaskGraph& graph, Costs& costs, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(Policy policy, find_policy(request.policy));
  if (request.keep_order) policy.order = OrderKind::depth_first;
  return Planner(graph, costs, request, policy).run();
}

}  // namespace plimsoll
