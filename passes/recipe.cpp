#include "passes/recipe.h"

#include <algorithm>

namespace plimsoll {

Result<std::optional<Found>> Recipe::attempt(int64_t sub_batch, int64_t live_limit) {
  PLIMSOLL_ASSIGN(const Candidate* split, splits_.candidate(sub_batch));
  if (ideal_seconds(*split) >= interesting_) return std::optional<Found>();
  PLIMSOLL_ASSIGN(std::optional<Plan> plan, plan_below(*split, policy_, live_limit, {.seconds = interesting_}));
  if (!plan) return std::optional<Found>();
  return std::optional(Found{std::move(*plan), split, live_limit, policy_});
}

Result<Found> Recipe::unconstrained(int64_t sub_batch) {
  Policy policy = policy_;
  policy.schedule = nullptr;
  if (policy.share_memory) policy.algorithms = AlgorithmKind::fitting;
  PLIMSOLL_ASSIGN(const Candidate* split, splits_.candidate(sub_batch));
  PLIMSOLL_ASSIGN(Plan plan, plan_within(*split, policy, kNoLimit));
  return Found{std::move(plan), split, kNoLimit, policy};
}

// Workspaces are chosen by live bytes, and the arena may come out a little higher: then the limit on live bytes is lowered
// by as much, and in the end to the smallest workspaces. The result is over budget when nothing helps.
Result<std::optional<Found>> Recipe::fit(int64_t sub_batch) {
  int64_t limit = request_.budget_bytes;
  for (int tries = 0; tries < 4; ++tries) {
    PLIMSOLL_ASSIGN(std::optional<Found> found, attempt(sub_batch, limit));
    if (!found || fits(*found)) return found;
    if (found->plan.summary.live_bytes > request_.budget_bytes) break;  // workspaces are as small as they get at the peak
    limit = std::min(limit, found->plan.summary.live_bytes) - (found->arena() - request_.budget_bytes);
  }
  return attempt(sub_batch, 0);
}

// Memory grows with the sub-batch, so the splits that fit are a tail of the list. Bytes without workspaces cost no
// profiling and cut most of the list away; the rest is bisected, starting where the cut is, since workspaces can
// usually be made small. Time falls with the sub-batch: when one is too slow, so are all smaller ones.
Result<std::optional<Found>> Recipe::fewest_rounds() {
  const std::vector<int64_t> sizes = even_splits(splits_.batch());
  size_t low = 0, high = sizes.size() - 1;  // the last fits, if any does
  const auto hopeless = [&](int64_t size) {
    return !policy_.schedule &&
           bytes_without_workspace(splits_.graph_for(size), policy_, splits_.batch(), size) > request_.budget_bytes;
  };
  if (policy_.sub_batch) {
    const auto candidate = [&](int64_t size) { return splits_.candidate(size); };
    PLIMSOLL_ASSIGN(const int64_t proposed, policy_.sub_batch(candidate, splits_.batch(), request_.budget_bytes));
    while (low < high && sizes[low] > proposed) ++low;
  } else {
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (hopeless(sizes[middle])) low = middle + 1;
      else high = middle;
    }
  }
  PLIMSOLL_ASSIGN(std::optional<Found> best, fit(sizes[low]));
  if (!best || fits(*best)) return best;
  high = sizes.size() - 1;
  PLIMSOLL_ASSIGN(best, fit(sizes[high]));
  while (low + 1 < high) {
    const size_t middle = (low + high) / 2;
    PLIMSOLL_ASSIGN(std::optional<Found> found, fit(sizes[middle]));
    if (!found) return found;
    if (fits(*found)) {
      best = std::move(found);
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

Result<Found> Recipe::make(int64_t sub_batch, int64_t live_limit) {
  PLIMSOLL_ASSIGN(const Candidate* split, splits_.candidate(sub_batch));
  PLIMSOLL_ASSIGN(Plan plan, plan_within(*split, policy_, live_limit));
  return Found{std::move(plan), split, live_limit, policy_};
}

Result<Found> Recipe::least(const Found& unconstrained) {
  const int64_t first = first_sub_batch();
  PLIMSOLL_ASSIGN(Found least, make(first, 0));
  const auto take_smaller = [&](Found other) {
    if (other.arena() < least.arena()) least = std::move(other);
  };
  // The smallest workspaces do not always make the smallest arena: placement may be luckier with others.
  if (first == splits_.batch() && !policy_.schedule) take_smaller(unconstrained);
  if (policy_.schedule) {
    PLIMSOLL_ASSIGN(Found free, make(first, kNoLimit));
    take_smaller(std::move(free));
  }
  if (request_.sub_batch == 0 && request_.may_split && first > 1) {
    PLIMSOLL_ASSIGN(Found single, make(1, 0));
    take_smaller(std::move(single));
  }
  return least;
}

Result<std::optional<Found>> Recipe::least_below(int64_t arena_bytes) {
  std::optional<Found> least;
  const int64_t first = first_sub_batch();
  const auto look_at = [&](int64_t sub_batch, int64_t live_limit) -> Status {
    PLIMSOLL_ASSIGN(const Candidate* split, splits_.candidate(sub_batch));
    PLIMSOLL_ASSIGN(std::optional<Plan> plan, plan_below(*split, policy_, live_limit, {.arena_bytes = arena_bytes}));
    if (!plan || plan->summary.arena_bytes >= arena_bytes) return {};
    arena_bytes = plan->summary.arena_bytes;
    least = Found{std::move(*plan), split, live_limit, policy_};
    return {};
  };
  if (request_.sub_batch == 0 && request_.may_split && first > 1) PLIMSOLL_TRY(look_at(1, 0));
  PLIMSOLL_TRY(look_at(first, 0));
  PLIMSOLL_TRY(look_at(first, kNoLimit));
  return least;
}

Result<Found> Recipe::choose(const Found& unconstrained, const Found& least) {
  const int64_t first = first_sub_batch();
  const bool free = first == splits_.batch() && !policy_.schedule && fits(unconstrained);
  if (free) return unconstrained;
  PLIMSOLL_ASSIGN(std::optional<Found> found, fit(first));
  if (fits(*found)) return std::move(*found);
  if (least.candidate->sub_batch == first) return least;
  PLIMSOLL_ASSIGN(found, fewest_rounds());
  return fits(*found) ? std::move(*found) : least;
}

Result<std::optional<Found>> Recipe::rival(double seconds) {
  interesting_ = seconds;
  const auto if_faster = [&](std::optional<Found> found) {
    return found && fits(*found) && found->seconds() < seconds ? std::move(found) : std::optional<Found>();
  };
  const int64_t first = first_sub_batch();
  PLIMSOLL_ASSIGN(std::optional<Found> found, fit(first));
  if (!found || fits(*found)) return if_faster(std::move(found));
  PLIMSOLL_ASSIGN(found, attempt(first, kNoLimit));
  if (!found || fits(*found)) return if_faster(std::move(found));
  if (request_.sub_batch != 0 || !request_.may_split || first == 1) return std::optional<Found>();
  PLIMSOLL_ASSIGN(found, fewest_rounds());
  return if_faster(std::move(found));
}

}  // namespace plimsoll
