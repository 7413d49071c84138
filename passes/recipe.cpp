#include "passes/recipe.h"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

constexpr int kChoices = 64, kFewChoices = 4;  // algorithm choices tried to reach an arena within the budget
constexpr size_t kLimits = 10;                 // live limits tried for the same purpose
constexpr int64_t kLastLimit = 0;              // minimum memory: the plan is returned even if it exceeds the budget
// Factor by which another order must be faster to replace the order with less memory.
constexpr double kFaster = 1 - 1e-6;
constexpr int64_t kSlack = 16;  // a policy may exceed its limit on live bytes by at most 1/16

// The largest live bytes that still count as keeping the limit.
int64_t with_slack(int64_t limit) {
  return limit == kNoLimit || limit == kLastLimit ? kNoLimit : limit + limit / kSlack;
}

// Percents of the unlimited arena. Larger graphs take longer per plan, so fewer limits are tried.
constexpr size_t kFewTasks = 2'000, kSomeTasks = 10'000, kManyTasks = 50'000;
constexpr int kSomePercents[] = {90, 80, 75, 66, 50, 40, 33, 25, 20, 15, 10, 7, 5, 3, 2, 1};
constexpr int kFewPercents[] = {75, 66, 50, 33, 25, 15, 10, 5, 2};
constexpr int kFewestPercents[] = {50, 20, 5};

// True if a task of the forward part needs no input of the model, like the copy of a weight in bf16.
bool may_start_without_input(const TaskGraph& graph) {
  return std::any_of(graph.tasks.begin(), graph.tasks.end(), [&](const Task& task) {
    const std::vector<TensorId> reads = task.reads();
    return is_forward(task.kind) &&
           std::all_of(reads.begin(), reads.end(), [&](TensorId tensor) { return graph.tensors[tensor].persistent; });
  });
}

// Tries choices, numbered from loose to tight, until one fits. Then bisects between it and the choices known to be too
// loose. `attempt(choice)` returns `choice` if its plan fits, else a tighter choice to try next.
template <class Attempt>
Status tighten(size_t choices, size_t tries, Attempt attempt) {
  size_t begin = 0, end = choices;  // [begin, end): those that may fit and are looser than those that do
  for (size_t choice = 0; choice < end && tries > 0; --tries) {
    PLIMSOLL_ASSIGN(const size_t next, attempt(choice));
    if (next == choice) end = choice;
    else begin = choice + 1;
    choice = end < choices ? (begin + end) / 2 : next;
  }
  return {};
}

}  // namespace

std::vector<int64_t> limits_within(int64_t budget_bytes, int64_t unlimited_bytes, size_t tasks) {
  if (budget_bytes == kNoLimit) return {kNoLimit};
  std::vector<int64_t> limits;
  const auto add = [&](int percent) {
    const int64_t limit = static_cast<int64_t>(static_cast<double>(unlimited_bytes) * percent / 100);
    if (limit <= budget_bytes) limits.push_back(limit);
  };
  for (int percent = 200; percent >= 100; percent -= tasks <= kManyTasks ? 10 : 50) add(percent);
  if (tasks <= kFewTasks) {
    for (int percent = 99; percent > 0; --percent) add(percent);
    return limits;
  }
  const std::span<const int> percents = tasks <= kSomeTasks   ? std::span<const int>(kSomePercents)
                                        : tasks <= kManyTasks ? std::span<const int>(kFewPercents)
                                                              : kFewestPercents;
  std::ranges::for_each(percents, add);
  return limits;
}

// The order with the least memory may take longer than another, in two cases. With several ranks, it may complete its
// gradients too late to overlap their reductions with the backward. And it may delay tasks that could run while the
// inputs arrive.
Result<Found> Recipe::unlimited(int64_t sub_batch) const {
  PLIMSOLL_ASSIGN(Found found, unlimited(sub_batch, policy_.order));
  if (!policy_.searches || policy_.order != OrderKind::best_of) return found;
  if (variants_.graph().ranks == 1 && !may_start_without_input(variants_.graph())) return found;
  for (const OrderKind order : {OrderKind::depth_first, OrderKind::arrivals, OrderKind::low_peak}) {
    PLIMSOLL_ASSIGN(Found other, unlimited(sub_batch, order));
    if (other.seconds() < kFaster * found.seconds()) found = std::move(other);
  }
  return found;
}

Result<Found> Recipe::unlimited(int64_t sub_batch, OrderKind order) const {
  Policy policy = policy_;
  policy.order = order;
  policy.schedule = nullptr;
  if (policy.share_memory) policy.algorithms = AlgorithmKind::fitting;
  PLIMSOLL_ASSIGN(const Candidate* candidate, variants_.candidate(sub_batch));
  if (!policy_.searches || order != policy_.order) return found_within(*candidate, policy, kNoLimit);
  // The search begins with the same order. To make it takes as long as the rest of the plan, so it is made once.
  PLIMSOLL_ASSIGN(const Ordered* ordered, variants_.ordered(sub_batch, policy_));
  PLIMSOLL_ASSIGN(Found found, found_within(*candidate, with_schedule(policy, ordered->model.order), kNoLimit));
  found.policy = std::move(policy);
  return found;
}

Result<Found> Recipe::plan(int64_t sub_batch, int64_t live_limit) const {
  PLIMSOLL_ASSIGN(const Candidate* candidate, variants_.candidate(sub_batch));
  return found_within(*candidate, policy_, live_limit);
}

Result<Found> Recipe::fit(int64_t sub_batch) const {
  if (policy_.schedule) return fit_schedule(sub_batch);
  PLIMSOLL_ASSIGN(std::optional<Found> found, fit_algorithms(sub_batch, {}));
  return std::move(*found);
}

// Workspaces are chosen by live bytes, and fragmentation may make the arena a little larger. The limit is then lowered
// to just where some task must take another algorithm. This enumerates the choices, fastest first, so the first that
// fits is the fastest that fits.
Result<std::optional<Found>> Recipe::fit_algorithms(int64_t sub_batch, const Ceiling& ceiling) const {
  PLIMSOLL_ASSIGN(const Candidate* candidate, variants_.candidate(sub_batch));
  const int choices = variants_.graph().tasks.size() <= kManyTasks ? kChoices : kFewChoices;
  int64_t limit = planning_.budget_bytes;
  for (int tries = 1;; ++tries) {
    PLIMSOLL_ASSIGN(std::optional<Found> found, plan_below(*candidate, policy_, limit, ceiling));
    if (!found || limit == kLastLimit || planning_.fits(*found)) return found;
    const int64_t live = found->plan.summary.live_bytes;
    const bool smallest = live > limit;  // workspaces at the peak are minimal already
    limit = tries < choices && !smallest ? live - 1 : kLastLimit;
  }
}

// Lowers the limit by the excess of the arena, rounded down to a limit of this graph, then bisects upwards. How much an
// arena exceeds its live bytes depends on the policy; for Dymem's two-ended pool it is a third.
Result<Found> Recipe::fit_schedule(int64_t sub_batch) const {
  const std::vector<int64_t> limits = policy_.depends_on_limit ? planning_.limits : std::vector<int64_t>();
  std::optional<Found> best;
  PLIMSOLL_TRY(tighten(limits.size(), kLimits, [&](size_t at) -> Result<size_t> {
    PLIMSOLL_ASSIGN(Found found, plan(sub_batch, limits[at]));
    if (planning_.fits(found) && found.plan.summary.live_bytes <= with_slack(limits[at])) {
      if (!best || found.seconds() <= best->seconds()) best = std::move(found);
      return at;
    }
    const int64_t lower = limits[at] - std::max<int64_t>(found.arena() - planning_.budget_bytes, 1);
    const auto next = std::ranges::find_if(limits, [&](int64_t limit) { return limit <= lower; });
    return static_cast<size_t>(next - limits.begin());
  }));
  if (best) return std::move(*best);
  return plan(sub_batch, kLastLimit);
}

// Memory grows with the sub-batch, so the splits that fit are a suffix of the list. Bytes without workspaces need no
// profiling and exclude most of the list. The rest is bisected, starting at that cut, because workspaces can usually be
// made small.
Result<Found> Recipe::fewest_rounds(const Found& minimum) const {
  const std::vector<int64_t> sizes = even_sub_batches(variants_.batch());
  int64_t proposed = variants_.batch();
  if (policy_.sub_batch) {
    const auto costs = [&](int64_t size) -> Result<SubBatchCosts> {
      PLIMSOLL_ASSIGN(const Candidate* const candidate, variants_.candidate(size));
      return SubBatchCosts{*candidate->graph, candidate->choices};
    };
    PLIMSOLL_ASSIGN(proposed, policy_.sub_batch(costs, variants_.batch(), planning_.budget_bytes));
  }
  const auto hopeless = [&](int64_t size) {
    if (policy_.schedule) return size > proposed;
    return bytes_without_workspace(variants_.graph_for(size), policy_, variants_.batch(), size) >
           planning_.budget_bytes;
  };
  const auto first = std::partition_point(sizes.begin(), std::prev(sizes.end()), hopeless);
  const std::span<const int64_t> left(first, sizes.end());
  Found best = minimum;
  PLIMSOLL_TRY(tighten(left.size(), left.size(), [&](size_t at) -> Result<size_t> {
    PLIMSOLL_ASSIGN(Found found, fit(left[at]));
    if (!planning_.fits(found)) return std::max(at + 1, left.size() - 1);  // the last one fits if any does
    best = std::move(found);
    return at;
  }));
  return best;
}

Result<Found> Recipe::minimum(const Found& unlimited) const {
  const int64_t first = first_sub_batch();
  PLIMSOLL_ASSIGN(Found minimum, plan(first, 0));
  const auto take_smaller = [&](Found other) {
    if (planning_.memory_of(other) < planning_.memory_of(minimum)) minimum = std::move(other);
  };
  // The smallest workspaces do not always give the smallest arena: fragmentation may be lower with others. And the
  // plan without a schedule has no host pool.
  if (first == variants_.batch()) {
    take_smaller(unlimited);
  } else if (policy_.schedule && !planning_.fits_host(minimum)) {
    PLIMSOLL_ASSIGN(Found free, this->unlimited(first));
    take_smaller(std::move(free));
  }
  if (policy_.schedule) {
    PLIMSOLL_ASSIGN(Found free, plan(first, kNoLimit));
    take_smaller(std::move(free));
  }
  if (chooses_rounds()) {
    PLIMSOLL_ASSIGN(Found single, plan(1, 0));
    take_smaller(std::move(single));
  }
  return minimum;
}

// Placement is most of the work, so a plan is not made if it is known to need or take too much.
Result<std::optional<Found>> Recipe::attempt_below(int64_t sub_batch, int64_t live_limit, const Ceiling& ceiling,
                                                   int64_t most_bytes) const {
  PLIMSOLL_ASSIGN(const Candidate* candidate, variants_.candidate(sub_batch));
  PLIMSOLL_ASSIGN(LowerBounds* const known, variants_.known_of(policy_, sub_batch, live_limit));
  Policy policy = policy_;
  policy.decided = std::exchange(known->decided, nullptr);
  const bool too_slow = known->seconds >= ceiling.seconds;
  const bool too_large = known->arena_bytes >= ceiling.arena_bytes || known->arena_bytes > most_bytes;
  if (too_slow || too_large || ceiling.deadline.passed()) return std::optional<Found>();
  PLIMSOLL_ASSIGN(std::optional<Found> found, plan_below(*candidate, policy, live_limit, ceiling));
  if (!found) {
    if (ceiling.deadline.passed()) return found;  // interrupted: nothing is known
    if (ceiling.arena_bytes == kNoLimit) known->seconds = ceiling.seconds;
    else known->arena_bytes = ceiling.arena_bytes;
    return found;
  }
  *known = {.seconds = found->seconds(), .arena_bytes = found->arena()};
  found->policy = policy_;
  if (found->plan.summary.live_bytes <= with_slack(live_limit)) return found;
  known->seconds = std::numeric_limits<double>::infinity();  // it does not count as a plan of this limit
  return std::optional<Found>();
}

Result<std::optional<Found>> Recipe::minimum_below(int64_t arena_bytes, std::span<const int64_t> sub_batches,
                                                   const Deadline& deadline) const {
  std::optional<Found> minimum;
  const auto look_at = [&](int64_t sub_batch, int64_t live_limit) -> Status {
    PLIMSOLL_ASSIGN(const Ordered* const ordered, variants_.ordered(sub_batch, policy_));
    if (ordered->bound_bytes >= arena_bytes || deadline.passed()) return {};
    const Ceiling ceiling = {.arena_bytes = arena_bytes, .deadline = deadline};
    PLIMSOLL_ASSIGN(std::optional<Found> found, attempt_below(sub_batch, live_limit, ceiling));
    if (!found || found->arena() >= arena_bytes || !planning_.fits_host(*found)) return {};
    arena_bytes = found->arena();
    minimum = std::move(found);
    return {};
  };
  for (const int64_t sub_batch : sub_batches) {
    PLIMSOLL_TRY(look_at(sub_batch, 0));
    if (sub_batch == first_sub_batch()) PLIMSOLL_TRY(look_at(sub_batch, kNoLimit));
  }
  return minimum;
}

std::vector<int64_t> Recipe::limits_of_rival() const {
  if (!policy_.schedule) return {};
  if (!policy_.depends_on_limit) return {kLastLimit};
  std::vector<int64_t> limits = planning_.limits;
  limits.insert(limits.end(), {kNoLimit, kLastLimit});
  return limits;
}

Status Recipe::precompute_rival(int64_t live_limit, double seconds) const {
  const int64_t sub_batch = first_sub_batch(), most_live = with_slack(live_limit);
  PLIMSOLL_ASSIGN(Ordered* const ordered, variants_.ordered(sub_batch, policy_));
  if (most_live != kNoLimit && ordered->bound_seconds(most_live) >= seconds) return {};
  PLIMSOLL_ASSIGN(LowerBounds* const known, variants_.known_of(policy_, sub_batch, live_limit));
  if (known->seconds >= seconds) known->decided = nullptr;
  return {};
}

Result<Found> Recipe::choose(const Found& unlimited, const Found& minimum) const {
  const int64_t first = first_sub_batch();
  const bool free = first == variants_.batch() && planning_.fits(unlimited);
  if (free && !policy_.schedule) return unlimited;
  PLIMSOLL_ASSIGN(Found found, fit(first));
  if (planning_.fits(found)) return found;
  if (free) return unlimited;
  return minimum.candidate->sub_batch == first ? minimum : fewest_rounds(minimum);
}

// Except for the comparison with the budget, the set of plans considered does not depend on it. So it includes
// everything that a smaller budget considers. A plan within a live limit takes at least the bound for that limit
// (search/bound.h).
Status Recipe::take_faster(int64_t sub_batch, Ceiling& ceiling, std::optional<Found>& best) const {
  const auto take = [&](std::optional<Found> found) {
    if (!found || !planning_.fits(*found) || found->seconds() >= ceiling.seconds) return;
    ceiling.seconds = found->seconds();
    best = std::move(found);
  };
  if (!policy_.schedule) {
    PLIMSOLL_ASSIGN(std::optional<Found> found, fit_algorithms(sub_batch, ceiling));
    take(std::move(found));
    return {};
  }
  PLIMSOLL_ASSIGN(Ordered* const ordered, variants_.ordered(sub_batch, policy_));
  bool too_slow = false;  // at a limit, and so at all lower ones
  for (const int64_t limit : limits_of_rival()) {
    if (ceiling.deadline.passed()) return {};
    const int64_t most_live = with_slack(limit);
    const bool bounded = most_live != kNoLimit;
    too_slow = too_slow || (bounded && ordered->bound_seconds(most_live) >= ceiling.seconds);
    if (bounded && too_slow) continue;
    PLIMSOLL_ASSIGN(std::optional<Found> found, attempt_below(sub_batch, limit, ceiling, planning_.budget_bytes));
    take(std::move(found));
  }
  return {};
}

Result<std::optional<Found>> Recipe::rival(double seconds, const Deadline& deadline) const {
  Ceiling ceiling = {.seconds = seconds, .deadline = deadline};
  std::optional<Found> best;
  std::vector<int64_t> sizes = {first_sub_batch()};
  if (chooses_rounds())
    for (const int64_t size : even_sub_batches(variants_.batch())) sizes.push_back(size);
  for (const int64_t size : sizes) {
    if (deadline.passed()) break;
    PLIMSOLL_ASSIGN(const Candidate* candidate, variants_.candidate(size));
    const bool too_slow = ideal_seconds(*candidate) >= ceiling.seconds;
    if (too_slow && variants_.measures()) break;
    if (!too_slow) PLIMSOLL_TRY(take_faster(size, ceiling, best));
  }
  return best;
}

}  // namespace plimsoll
