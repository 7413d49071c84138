#include "passes/select_variant.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>
#include <utility>

#include "compiler/support/thread_pool.h"
#include "passes/search/fit.h"
#include "passes/search/host_pool.h"

namespace plimsoll {
namespace {

constexpr size_t kSearch = static_cast<size_t>(-1);
// Steps of an order. Above this, placing a plan takes seconds, and quick placement fragments more.
constexpr size_t kLarge = 50'000;

class Selector {
 public:
  Selector(Searches& searches, Variants& variants, const Policy& policy, const SelectionLimits& limits, Found known)
      : all_searches_(searches), variants_(variants), policy_(policy), limits_(limits), best_(std::move(known)) {}

  // `alone`: there is no other sub-batch to fall back on. Returns false if smaller sub-batches are not worth a look.
  Result<bool> run(std::span<const int64_t> sizes, bool alone) {
    const bool late = limits_.search.passed();
    if (late && variants_.measures() && !alone) return bounded_ = false;
    searches_.clear();
    idling_ = false;
    PLIMSOLL_TRY(variants_.expect(sizes));
    for (const int64_t size : sizes) {
      PLIMSOLL_ASSIGN(const Candidate* candidate, variants_.candidate(size));
      const double ideal = ideal_seconds(*candidate);
      if (late) bound_ = std::min(bound_, ideal);
      if (late || ideal >= best_.seconds()) continue;
      next_.push({ideal, searches_.size(), kSearch});
      searches_.push_back({.candidate = candidate, .ideal_seconds = ideal});
    }
    ThreadPool pool(limits_.threads);
    pool.limit_priority(best_.seconds());
    for (VariantSearch& variant : searches_)
      variant.setup = &pool.add(variant.ideal_seconds, [this, &variant, &pool, alone](const std::stop_token&) {
        return set_up(variant, pool, alone), false;
      });
    while (!next_.empty()) {
      const Entry entry = next_.top();
      next_.pop();
      if (entry.schedule != kSearch) PLIMSOLL_TRY(make_plan_of(entry, pool));
      else if (entry.seconds < best_.seconds()) PLIMSOLL_TRY(search(entry, pool));
    }
    for (const VariantSearch& variant : searches_)
      host_budget_binds_ |= variant.ready && (variant.search->schedules.pool_binds() || variant.search->pool_refused);
    return !searches_.empty();
  }

  Selection selection() {
    const double bound = bounded_ ? std::min(bound_, best_.seconds()) : 0;
    return {.best = std::move(best_), .host_budget_binds = host_budget_binds_, .bound_seconds = bound};
  }

 private:
  struct VariantSearch {
    const Candidate* candidate = nullptr;
    double ideal_seconds = 0;
    WorkItem* setup = nullptr;
    // Valid once `setup` has run:
    Status status = {};
    ScheduleSearch* search = nullptr;
    std::vector<WorkItem*> segments = {};  // null: nothing left to search; empty vector: nothing in them fits
    // State of the selection loop:
    bool ready = false;
    size_t segment = 0, stretch = 0;  // the next one to look at
    std::vector<const search::State*> found = {};
  };
  // Either a schedule, with its predicted seconds, which assigned addresses may still reduce; or a pending search, with
  // a lower bound on all schedules it can still find.
  struct Entry {
    double seconds = 0;
    size_t variant = 0, schedule = 0;  // kSearch: a pending search
    bool operator>(const Entry& other) const {
      return std::tie(seconds, variant, schedule) > std::tie(other.seconds, other.variant, other.schedule);
    }
  };

  // Runs on any thread. Schedules of a segment above the budget fit only by chance, so those segments are skipped.
  void set_up(VariantSearch& variant, ThreadPool& pool, bool alone) {
    const Result<Ordered*> ordered = variants_.ordered(variant.candidate->sub_batch, policy_);
    if (!ordered.ok()) return void(variant.status = ordered.error());
    variant.search = &all_searches_.find(**ordered, policy_, limits_.effort, limits_.host_budget_bytes);
    search::Descent* const schedules = &variant.search->schedules;
    const int64_t least = schedules->minimum_bytes();
    if (!alone && !schedules->pool_binds() && least != kNoLimit && least > limits_.budget_bytes) return;
    schedules->begin(limits_.search, searches_.size() == 1 ? limits_.threads : 1);  // else the threads are busy
    for (size_t segment = 0; segment < schedules->limits().segments.size(); ++segment) {
      const auto search = [this, schedules, segment](const std::stop_token& stop) {
        return !schedules->next(segment, limits_.search.unless(stop)).last;
      };
      const bool wanted = segment >= schedules->limits().segment_of(limits_.budget_bytes) && !schedules->ended(segment);
      variant.segments.push_back(
          wanted ? &pool.add(bound_seconds_of(variant, segment), search,
                             static_cast<int64_t>(schedules->searched(segment))) : nullptr);
    }
    if (searches_.size() == 1)
      pool.add_idle([this, ordered = *ordered](const std::stop_token& stop) {
        return search_ahead(*ordered, limits_.search.unless(stop));
      });
  }

  // Searches the next stretch that the selections with later efforts need. Returns false if there is none. A stretch
  // that the end of this selection interrupts is dropped.
  bool search_ahead(Ordered& ordered, const Deadline& deadline) {
    for (const int effort : limits_.later_efforts) {
      if (deadline.passed()) return false;  // before start schedules are found for nothing
      search::Descent& schedules = all_searches_.find(ordered, policy_, effort, limits_.host_budget_bytes).schedules;
      schedules.begin(deadline);
      if (!schedules.complete()) return false;
      const search::Limits& all = schedules.limits();
      for (size_t segment = all.segment_of(limits_.budget_bytes); segment < all.segments.size(); ++segment) {
        if (schedules.ended(segment)) continue;
        schedules.next(segment, deadline);
        return true;
      }
    }
    return false;
  }

  // Lower bound for the schedules of one segment.
  double bound_seconds_of(const VariantSearch& variant, size_t segment) const {
    const search::Limits& all = variant.search->schedules.limits();
    const int64_t above = all.above(all.segments[segment].first);
    return variant.search->ordered.bound_seconds(std::min(limits_.budget_bytes, above));
  }

  Status search(const Entry& entry, ThreadPool& pool) {
    VariantSearch& variant = searches_[entry.variant];
    if (limits_.search.passed()) {
      if (!variant.ready) bound_ = std::min(bound_, entry.seconds);  // the bound is the sum of its fastest tasks
      return {};
    }
    if (!variant.ready) {
      pool.reach(*variant.setup, 1);
      PLIMSOLL_TRY(variant.status);
      variant.ready = true;
      if (variant.search->ordered.bound_bytes > limits_.budget_bytes) return {};  // there is no such plan to bound
      bound_ = std::min(bound_, variant.search->ordered.bound_seconds(limits_.budget_bytes));
      if (variant.segments.empty()) return {};
      variant.segment = variant.search->schedules.limits().segment_of(limits_.budget_bytes);
      next_.push({bound_seconds_of(variant, variant.segment), entry.variant, kSearch});
      return {};
    }
    if (WorkItem* const segment = variant.segments[variant.segment])
      pool.reach(*segment, static_cast<int64_t>(variant.stretch) + 1);
    const search::Stretch& stretch = variant.search->schedules.stretch(variant.segment, variant.stretch);
    host_budget_binds_ |= stretch.pool_binds;
    for (const search::State& state : stretch.states) {
      if (!state.outcome.fits(limits_.budget_bytes)) continue;
      next_.push({state.outcome.seconds, entry.variant, variant.found.size()});
      promising_ = std::min(promising_.load(), state.outcome.seconds);
      variant.found.push_back(&state);
    }
    if (limits_.idle && std::isfinite(promising_) && !std::exchange(idling_, true))
      pool.add_idle([this](const std::stop_token&) { return limits_.idle(promising_); });
    if (stretch.below < 0) return {};
    const int64_t left = std::min(limits_.budget_bytes, stretch.below);
    next_.push({variant.search->ordered.bound_seconds(left), entry.variant, kSearch});
    ++variant.stretch;
    if (!stretch.last) return {};
    ++variant.segment;
    variant.stretch = 0;
    return {};
  }

  // The predicted time of a schedule is an upper bound (schedule/evaluate.h). So a schedule slower than the best plan
  // may still win. It is skipped only if its lower bound, with waits for data alone, is too slow.
  Status make_plan_of(const Entry& entry, ThreadPool& pool) {
    const VariantSearch& variant = searches_[entry.variant];
    const search::State& state = *variant.found[entry.schedule];
    if (limits_.deadline.passed() || state.outcome.busy_seconds >= best_.seconds()) return {};
    PLIMSOLL_ASSIGN(std::optional<Found> made,
                    plan_of(*variant.search, state, limits_.budget_bytes, best_.seconds(), limits_.deadline));
    if (!made) return {};
    best_ = std::move(*made);
    pool.limit_priority(best_.seconds());
    return {};
  }

  Searches& all_searches_;
  Variants& variants_;
  const Policy& policy_;
  const SelectionLimits& limits_;
  Found best_;
  std::deque<VariantSearch> searches_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next_;
  double bound_ = std::numeric_limits<double>::infinity();
  // The least seconds of a schedule that fits.
  std::atomic<double> promising_ = std::numeric_limits<double>::infinity();
  bool idling_ = false;
  bool bounded_ = true, host_budget_binds_ = false;
};

}  // namespace

ScheduleSearch::ScheduleSearch(Ordered& ordered, const Policy& policy, int effort, int64_t host_budget,
                               const ScheduleSearch* other)
    : ordered(ordered),
      policy(policy),
      host_budget(host_budget),
      pool_limit(search::pool_limit_for(ordered.model, host_budget)),
      schedules(ordered.model, {.effort = effort, .pool_limit = pool_limit}, other ? &other->schedules : nullptr) {}

ScheduleSearch& Searches::find(Ordered& ordered, const Policy& policy, int effort, int64_t host_budget) {
  const std::tuple key(&ordered, effort, host_budget);
  const ScheduleSearch* other = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = found_.find(key); known != found_.end()) return *known->second;
    for (const auto& [with, search] : found_)
      if (with == std::tuple(&ordered, std::get<int>(with), host_budget)) other = search.get();
  }
  auto made = std::make_unique<ScheduleSearch>(ordered, policy, effort, host_budget, other);
  const std::lock_guard lock(mutex_);
  return *found_.try_emplace(key, std::move(made)).first->second;
}

void Searches::forget_unfinished() {
  std::erase_if(found_, [](auto& each) { return !each.second->schedules.forget_unfinished(); });
}

// If a sub-batch needs measurements, sub-batches are tried one by one, until the lower bound of one is too slow: time
// mostly falls as the sub-batch grows.
Result<Selection> select_variant(Searches& searches, Variants& variants, const Policy& policy,
                                 std::span<const int64_t> sizes, const SelectionLimits& limits, Found known) {
  Selector selector(searches, variants, policy, limits, std::move(known));
  const bool alone = sizes.size() == 1;
  const size_t at_once = variants.measures() ? 1 : sizes.size();
  for (bool going_on = true; going_on && !sizes.empty(); sizes = sizes.subspan(at_once)) {
    PLIMSOLL_ASSIGN(going_on, selector.run(sizes.first(at_once), alone));
  }
  searches.forget_unfinished();
  return selector.selection();
}

// The tighter limits do not depend on the budget. A tighter variant that is faster than the looser one before it is
// skipped: a larger budget would take the looser one and be slower.
Result<std::optional<Found>> plan_of(ScheduleSearch& search, const search::State& state, int64_t budget_bytes,
                                     double seconds, const Deadline& deadline) {
  constexpr int64_t kParts[] = {0, 64, 32, 16}, kPartsOfLarge[] = {0, 8};  // the limit as found, less 1/64 …
  const bool large = search.ordered.model.order.size() > kLarge;
  search::Workbench bench(search.ordered.model, deadline, search.pool_limit, state.spare);
  double looser = 0;
  for (const int64_t part : large ? std::span<const int64_t>(kPartsOfLarge) : kParts) {
    const int64_t limit = part == 0 ? state.limit : state.outcome.peak_bytes - state.outcome.peak_bytes / part;
    search::State tight = bench.evaluate(state.decisions, limit);
    if (!tight.outcome.possible()) break;
    if (part != 0 && !tight.outcome.fits(limit)) {
      tight = search::fit(bench, tight.decisions, limit, {});
      if (!tight.outcome.fits(limit)) break;
      bench.evaluate(tight.decisions, limit);
    }
    if (bench.evaluator.least_seconds(bench.trace) >= seconds) break;
    PLIMSOLL_ASSIGN(std::optional<Found> made,
                    plan_below(search.ordered.candidate, with_schedule(search.policy, bench.trace),
                               limit - state.spare.most, {.seconds = seconds, .deadline = deadline}));
    if (!made || made->seconds() >= seconds) break;
    if (made->seconds() < looser) continue;
    looser = made->seconds();
    search.pool_refused |= made->host_pool() > search.host_budget;
    if (made->host_pool() <= search.host_budget && made->arena() <= budget_bytes) return made;
  }
  return std::optional<Found>();
}

}  // namespace plimsoll
