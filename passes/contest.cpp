#include "passes/contest.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>

#include "passes/crew.h"

namespace plimsoll {
namespace {

constexpr size_t kSearch = static_cast<size_t>(-1);

class Contest {
 public:
  Contest(Splits& splits, const Policy& policy, const ContestRules& rules, Found known)
      : splits_(splits), policy_(policy), rules_(rules), best_(std::move(known)) {}

  // `alone`: there is no other sub-batch to fall back on. Returns false if smaller sub-batches are not worth a look.
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
      sides_.push_back({.split = split, .ideal_seconds = ideal});
    }
    Crew crew(rules_.hands);
    crew.want_below(best_.seconds());
    for (Side& side : sides_)
      side.opening = &crew.add(side.ideal_seconds, [this, &side, &crew, alone](const std::stop_token&) { return open(side, crew, alone), false; });
    while (!next_.empty()) {
      const Entry entry = next_.top();
      next_.pop();
      if (entry.schedule != kSearch) PLIMSOLL_TRY(make_plan_of(entry, crew));
      else if (entry.seconds < best_.seconds()) PLIMSOLL_TRY(search(entry, crew));
    }
    for (const Side& side : sides_) host_budget_binds_ |= side.opened && side.schedules->host_budget_binds();
    return !sides_.empty();
  }

  Winner winner() {
    const double bound = bounded_ ? std::min(bound_, best_.seconds()) : 0;
    return {.best = std::move(best_), .host_budget_binds = host_budget_binds_, .bound_seconds = bound};
  }

 private:
  struct Side {
    const Candidate* split = nullptr;
    double ideal_seconds = 0;
    Errand* opening = nullptr;
    // Valid once `opening` has run:
    Status status = {};
    Joint* schedules = nullptr;
    std::vector<Errand*> legs = {};  // null: nothing left to search; empty vector: nothing in them fits
    // State of the selection loop:
    bool opened = false;
    size_t leg = 0, stretch = 0;  // the next one to look at
    std::vector<const search::State*> found = {};
  };
  // Either a schedule, with its predicted seconds, which assigned addresses may still reduce; or a pending search, with
  // a lower bound on all schedules it can still find.
  struct Entry {
    double seconds = 0;
    size_t side = 0, schedule = 0;  // kSearch: a pending search
    bool operator>(const Entry& other) const { return std::tie(seconds, side, schedule) > std::tie(other.seconds, other.side, other.schedule); }
  };

  // Runs on any thread. Schedules of a segment above the budget fit only by chance, so those segments are skipped.
  void open(Side& side, Crew& crew, bool alone) {
    Result<Joint*> opened = splits_.joint(side.split->sub_batch, policy_, rules_.effort, rules_.host_budget_bytes);
    if (!opened.ok()) return void(side.status = opened.error());
    Joint* const schedules = side.schedules = *opened;
    const int64_t least = schedules->least_bytes();
    if (!alone && least != kNoLimit && least > rules_.budget_bytes) return;
    schedules->begin(rules_.search);
    for (size_t leg = 0; leg < schedules->legs(); ++leg) {
      const auto search = [this, schedules, leg](const std::stop_token& stop) { return schedules->search_on(leg, rules_.search.unless(stop)); };
      const bool wanted = leg >= schedules->leg_of(rules_.budget_bytes) && !schedules->ended(leg);
      side.legs.push_back(wanted ? &crew.add(schedules->bound_seconds_of(leg, rules_.budget_bytes), search, schedules->searched(leg)) : nullptr);
    }
  }

  Status search(const Entry& entry, Crew& crew) {
    Side& side = sides_[entry.side];
    if (rules_.search.passed()) {
      if (!side.opened) bound_ = std::min(bound_, entry.seconds);  // the bound is the sum of its fastest tasks
      return {};
    }
    if (!side.opened) {
      crew.reach(*side.opening, 1);
      PLIMSOLL_TRY(side.status);
      side.opened = true;
      bound_ = std::min(bound_, side.schedules->bound_seconds(rules_.budget_bytes));
      if (side.legs.empty()) return {};
      side.leg = side.schedules->leg_of(rules_.budget_bytes);
      next_.push({side.schedules->bound_seconds_of(side.leg, rules_.budget_bytes), entry.side, kSearch});
      return {};
    }
    if (Errand* const leg = side.legs[side.leg]) crew.reach(*leg, static_cast<int64_t>(side.stretch) + 1);
    const search::Stretch& stretch = side.schedules->stretch(side.leg, side.stretch);
    host_budget_binds_ |= stretch.pool_binds;
    for (const search::State& state : stretch.states) {
      if (!state.outcome.fits(rules_.budget_bytes)) continue;
      next_.push({state.outcome.seconds, entry.side, side.found.size()});
      side.found.push_back(&state);
    }
    if (stretch.below < 0) return {};
    next_.push({side.schedules->bound_seconds(std::min(rules_.budget_bytes, stretch.below)), entry.side, kSearch});
    ++side.stretch;
    if (!stretch.last) return {};
    ++side.leg;
    side.stretch = 0;
    return {};
  }

  // The predicted time of a schedule is an upper bound (schedule/evaluate.h). So a schedule slower than the best plan
  // may still win. It is skipped only if its lower bound, with waits for data alone, is too slow.
  Status make_plan_of(const Entry& entry, Crew& crew) {
    const Side& side = sides_[entry.side];
    const search::State& state = *side.found[entry.schedule];
    if (rules_.deadline.passed() || state.outcome.busy_seconds >= best_.seconds()) return {};
    PLIMSOLL_ASSIGN(std::optional<JointPlan> made, side.schedules->plan(state, rules_.budget_bytes, best_.seconds(), rules_.deadline));
    if (!made) return {};
    best_ = {std::move(made->plan), side.split, made->live_limit, policy_, std::move(made->decided)};
    crew.want_below(best_.seconds());
    return {};
  }

  Splits& splits_;
  const Policy& policy_;
  const ContestRules& rules_;
  Found best_;
  std::deque<Side> sides_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next_;
  double bound_ = std::numeric_limits<double>::infinity();
  bool bounded_ = true, host_budget_binds_ = false;
};

}  // namespace

// If a sub-batch needs measurements, sub-batches are tried one by one, until the lower bound of one is too slow: time
// mostly falls as the sub-batch grows.
Result<Winner> hold_contest(Splits& splits, const Policy& policy, std::span<const int64_t> sizes, const ContestRules& rules, Found known) {
  Contest contest(splits, policy, rules, std::move(known));
  const bool alone = sizes.size() == 1;
  const size_t at_once = splits.measures() ? 1 : sizes.size();
  for (bool going_on = true; going_on && !sizes.empty(); sizes = sizes.subspan(at_once)) {
    PLIMSOLL_ASSIGN(going_on, contest.run(sizes.first(at_once), alone));
  }
  splits.forget_unfinished();
  return contest.winner();
}

}  // namespace plimsoll
