#include "passes/contest.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace plimsoll {
namespace {

constexpr size_t kSearch = static_cast<size_t>(-1);

class Contest {
 public:
  Contest(Splits& splits, const Policy& policy, const ContestRules& rules, Found known)
      : splits_(splits), policy_(policy), rules_(rules), best_(std::move(known)) {}

  // `alone`: no other split is there to fall back on. False: what comes behind these is not worth a look.
  Result<bool> run(std::span<const int64_t> sizes, bool alone) {
    const bool late = rules_.search.passed();
    if (late && splits_.measures() && !alone) return bounded_ = false;
    sides_.clear();
    for (const int64_t size : sizes) {
      PLIMSOLL_ASSIGN(const Candidate* split, splits_.candidate(size));
      const double ideal = ideal_seconds(*split);
      if (late) bound_ = std::min(bound_, ideal);
      if (late || ideal >= best_.seconds()) continue;
      next_.push({ideal, sides_.size(), kSearch});
      sides_.push_back({.split = split});
    }
    while (!next_.empty()) {
      const Entry entry = next_.top();
      next_.pop();
      if (entry.state != kSearch) PLIMSOLL_TRY(make_plan_of(entry));
      else if (entry.seconds < best_.seconds()) PLIMSOLL_TRY(search(entry, alone));
    }
    for (const Side& side : sides_) host_budget_binds_ |= side.schedules && side.schedules->host_budget_binds();
    return !sides_.empty();
  }

  Winner winner() {
    const double bound = bounded_ ? std::min(bound_, best_.seconds()) : 0;
    return {.best = std::move(best_), .host_budget_binds = host_budget_binds_, .bound_seconds = bound};
  }

 private:
  struct Side {
    const Candidate* split = nullptr;
    Joint* schedules = nullptr;  // null: not looked at yet
    size_t entered = 0;          // of the schedules found
  };
  // A schedule, with what it takes before its addresses spare it some waits; or what all that is still to be found takes at least.
  struct Entry {
    double seconds = 0;
    size_t side = 0, state = 0;  // kSearch: to find more
    bool operator>(const Entry& other) const { return std::tie(seconds, side, state) > std::tie(other.seconds, other.side, other.state); }
  };

  Status search(const Entry& entry, bool alone) {
    Side& side = sides_[entry.side];
    if (rules_.search.passed()) {
      if (!side.schedules) bound_ = std::min(bound_, entry.seconds);  // its tasks alone
      return {};
    }
    if (side.schedules) {
      side.schedules->search_on(rules_.search);
    } else {
      PLIMSOLL_ASSIGN(side.schedules, splits_.joint(side.split->sub_batch, policy_, rules_.effort, rules_.host_budget_bytes));
      bound_ = std::min(bound_, side.schedules->bound_seconds(rules_.budget_bytes));
      const int64_t least = side.schedules->least_bytes();
      if (!alone && least != kNoLimit && least > rules_.budget_bytes) return {};
    }
    const std::vector<search::State>& found = side.schedules->found();
    for (; side.entered < found.size(); ++side.entered)
      if (found[side.entered].outcome.fits(rules_.budget_bytes)) next_.push({found[side.entered].outcome.seconds, entry.side, side.entered});
    next_.push({side.schedules->rest_seconds(rules_.budget_bytes), entry.side, kSearch});
    return {};
  }

  // A schedule's time is an upper bound (schedule/evaluate.h), so those that are slower than the best plan may still win: as long as
  // waiting for data alone would leave them a chance.
  Status make_plan_of(const Entry& entry) {
    const Side& side = sides_[entry.side];
    const search::State& state = side.schedules->found()[entry.state];
    if (rules_.deadline.passed() || state.outcome.busy_seconds >= best_.seconds()) return {};
    PLIMSOLL_ASSIGN(std::optional<JointPlan> made, side.schedules->plan(state, rules_.budget_bytes, best_.seconds(), rules_.deadline));
    if (made) best_ = {std::move(made->plan), side.split, made->live_limit, policy_, std::move(made->decided)};
    return {};
  }

  Splits& splits_;
  const Policy& policy_;
  const ContestRules& rules_;
  Found best_;
  std::vector<Side> sides_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next_;
  double bound_ = std::numeric_limits<double>::infinity();
  bool bounded_ = true, host_budget_binds_ = false;
};

}  // namespace

// To look at a split may cost measurements, and time mostly falls with the sub-batch: then they are looked at one by one, until one is
// too slow at its best.
Result<Winner> hold_contest(Splits& splits, const Policy& policy, std::span<const int64_t> sizes, const ContestRules& rules, Found known) {
  Contest contest(splits, policy, rules, std::move(known));
  const bool alone = sizes.size() == 1;
  const size_t at_once = splits.measures() ? 1 : sizes.size();
  for (bool going_on = true; going_on && !sizes.empty(); sizes = sizes.subspan(at_once)) {
    PLIMSOLL_ASSIGN(going_on, contest.run(sizes.first(at_once), alone));
  }
  return contest.winner();
}

}  // namespace plimsoll
