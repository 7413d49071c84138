#include "passes/search/frontier.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "passes/search/fit.h"
#include "passes/search/improve.h"
#include "passes/search/non_overlapped.h"
#include "passes/search/relax.h"
#include "passes/search/starts.h"

namespace plimsoll::search {
namespace {

constexpr int kParts = 4;           // steps from one limit up to the next
constexpr int64_t kPartsBelow = 8;  // limits below the start schedules' minimum

// Near the minimum.
enum class Beside { own_tensors, minimum_schedule };
// Spare bytes: a part of the lowest limit, beside a task's own tensors, or beside all that the minimum-memory schedule
// has there.
constexpr struct SparePart {
  int64_t part;
  Beside beside;
} kSpareParts[] = {{32, Beside::own_tensors},
                   {8, Beside::own_tensors},
                   {8, Beside::minimum_schedule},
                   {4, Beside::minimum_schedule}};
constexpr double kNear = 1.3;               // limits up to this multiple of the lowest one are near it
constexpr size_t kMostSteps = 10'000;       // of the order: hundreds of evaluations of a deeper network take too long
constexpr int64_t kRecomputeEvaluations[] = {100, 800, 1600, 3200};  // by effort
constexpr int kTimesRelaxed = 3;

}  // namespace

// What all segments share. Constant once begin() has run.
struct Descent::Common {
  Common(const Model& model, const FrontierOptions& options, const Common* other)
      : model(model),
        options(options),
        found(other && other->begun && other->starts->complete()),
        starts(found ? other->starts : std::make_shared<Starts>(model, options.means, options.pool_limit)),
        space(find_decision_space(model)) {}

  void begin(const Deadline& deadline, int threads) {
    if (!found) starts->find(deadline, threads);
    limits = limits_between(starts->least_bytes(), starts->whole().outcome.peak_bytes,
                            static_cast<int64_t>(model.order.size()), options.effort);
    if (model.order.size() <= kMostSteps) find_minimum_bytes();
    begun = true;
  }

  void find_minimum_bytes() {
    Workbench bench(model, {}, options.pool_limit);
    if (!bench.evaluate(starts->small().decisions, 0).outcome.possible()) return;
    std::vector<int64_t> most(model.tasks.size(), 0);
    for (size_t step = 0; step < bench.trace.size(); ++step)
      if (const Op& op = bench.trace[step]; op.is_task())
        most[at(op.id)] = std::max(most[at(op.id)], bench.evaluator.live()[step]);
    minimum_bytes = std::make_shared<const std::vector<int64_t>>(std::move(most));
  }

  const Model& model;
  const FrontierOptions options;
  const bool found;  // `starts` was found by another search, with which it is shared
  const std::shared_ptr<Starts> starts;
  const DecisionSpace space;
  Limits limits;
  // Live in the minimum-memory schedule at each task; null if that schedule is not possible.
  std::shared_ptr<const std::vector<int64_t>> minimum_bytes = nullptr;
  bool begun = false;
};

class Descent::Segment {
 public:
  Segment(const Common& common, size_t segment)
      : common_(common),
        options_(common.options),
        bench_(common.model, {}, common.options.pool_limit),
        random_(segment + 1),
        archive_(common.starts->archive()),
        near_(std::size(kSpareParts)),
        last_(common.starts->whole()),
        bottom_(segment + 1 == common.limits.segments.size()) {
    std::tie(begin_, end_) = common.limits.segments[segment];
    at_ = begin_ - std::min(kWarmUpLimits, begin_);
    above_ = at_ == 0 ? common.starts->whole().outcome.peak_bytes : common.limits.bytes[at_ - 1];
    work_ = common.limits.work * static_cast<int64_t>(end_ - at_);
    stretches_.resize(end_ - begin_);
  }

  const Stretch& next(const Deadline& deadline) {
    bench_.deadline = deadline;
    const int64_t above = at_ <= begin_ ? common_.limits.above(begin_) : above_;
    bool more = true;
    do more = !over() && improve_below(common_.limits.bytes[at_]);
    while (more && ++at_ <= begin_);
    ended_ = !more || at_ == end_;
    if (ended_ && bottom_ && !over() && (!options_.means.offload || bench_.pool_binds || common_.starts->pool_binds()))
      search_below_minimum();
    const bool complete = common_.starts->complete() && !over();
    const int64_t below = !complete || (ended_ && bottom_) ? -1 : ended_ ? common_.limits.bytes[end_ - 1] : above_;
    ended_ |= !complete;
    std::vector<State> states = archive_.between(below, above);
    std::ranges::reverse(states);
    // Those with fewer bytes belong to later stretches.
    const auto now = std::stable_partition(with_spare_.begin(), with_spare_.end(), [&](const State& state) {
      return state.outcome.peak_bytes <= below;
    });
    std::move(now, with_spare_.end(), std::back_inserter(states));
    with_spare_.erase(now, with_spare_.end());
    return stretches_[searched_++] = {.states = std::move(states),
                                      .below = below,
                                      .last = ended_,
                                      .complete = complete,
                                      .pool_binds = bench_.pool_binds};
  }

  size_t searched() const { return searched_; }
  const Stretch& stretch(size_t stretch) const { return stretches_[stretch]; }
  bool ended() const { return ended_; }
  bool complete() const { return searched_ == 0 || stretches_[searched_ - 1].complete; }

 private:
  bool over() const { return bench_.deadline.passed(); }

  // Limits share the remaining work: if the search ends early at a limit, the tighter ones get the rest. Returns false
  // if there is no schedule within `limit`.
  bool improve_below(int64_t limit) {
    const int64_t share = std::max<int64_t>(work_ - bench_.work, 0) / static_cast<int64_t>(end_ - at_);
    std::optional<State> best = common_.starts->best_within(bench_, archive_, last_, limit, share / 2);
    if (!best) return false;
    last_ = improve(bench_, std::move(*best), limit, share / 2, common_.space, options_.means, random_, archive_);
    if (at_ >= begin_) fill(last_, limit, above_);
    if (at_ >= begin_ && is_near(limit))
      for (size_t i = 0; i < std::size(kSpareParts); ++i) leave_spare(kSpareParts[i], limit, share / 8, near_[i]);
    above_ = limit;
    return true;
  }

  bool is_near(int64_t limit) const {
    return common_.model.order.size() <= kMostSteps &&
           static_cast<double>(limit) < kNear * static_cast<double>(common_.limits.bytes.back());
  }

  // Near the minimum, the schedules of improve_below() have two faults. First, they fill the limit at most steps. Their
  // buffers then fragment the arena, and a budget near the minimum has no bytes for that. Second, tasks wait for most
  // copies, because a tensor leaves to make room for the next task. So other schedules leave spare bytes, and recompute
  // what tasks would wait for. `last`: the result at the limit before, or nullopt.
  void leave_spare(const SparePart& spare, int64_t limit, int64_t work, std::optional<State>& last) {
    if (spare.beside == Beside::minimum_schedule && !common_.minimum_bytes) return;
    const int64_t least = common_.limits.bytes.back();
    Workbench bench(common_.model, bench_.deadline, options_.pool_limit,
                    {.most = least / spare.part,
                     .all = least,
                     .taken = spare.beside == Beside::minimum_schedule ? common_.minimum_bytes : nullptr});
    std::optional<State> best;
    const auto consider = [&](State state) {
      if (state.outcome.fits(limit) && (!best || state.outcome.seconds < best->outcome.seconds))
        best = std::move(state);
    };
    const auto fitted = [&](const Decisions& from) { consider(fit(bench, from, limit, options_.means)); };
    const Decisions &whole = common_.starts->whole().decisions, &small = common_.starts->small().decisions;
    Decisions at_home = whole;  // in the host pool: what may reside there
    at_home.residences = small.residences;
    if (last) fitted(last->decisions);
    fitted(last_.decisions);
    fitted(at_home);
    fitted(whole);
    if (!best) consider(bench.evaluate(small, limit));
    if (best) {
      const int64_t evaluations = kRecomputeEvaluations[std::clamp(options_.effort, 0, 3)];
      const int64_t steps = static_cast<int64_t>(common_.model.order.size());
      best = recompute_non_overlapped(bench, std::move(*best), limit, evaluations * steps, options_.means);
      best = relax(bench, std::move(*best), limit, kTimesRelaxed);
      std::mt19937_64 random(1);
      Archive archive;
      best = improve(bench, std::move(*best), limit, work, common_.space, options_.means, random, archive);
      with_spare_.push_back(*best);
    }
    last = std::move(best);
    bench_.pool_binds |= bench.pool_binds;
  }

  // Without copies, or with a full host pool, evicting everything may not give the minimum: keeping a small tensor may
  // avoid recomputing it through large ones. So the tightest schedule so far is fitted and perturbed below its own
  // peak, as long as that helps. The lowest effort has other limits and may find a smaller schedule. So its results are
  // added, and limits between its minimum and this one are searched. keep_one() is tried, too.
  void search_below_minimum() {
    const int64_t share = common_.limits.work / 2;
    const auto search_below = [&](const State& from, int64_t limit, int64_t work) {
      const State fitted = fit(bench_, from.decisions, limit, options_.means);
      if (fitted.outcome.fits(limit)) archive_.add(fitted);
      return improve(bench_, from, limit, work, common_.space, options_.means, random_, archive_);
    };
    const int64_t high = archive_.tightest()->outcome.peak_bytes;
    if (options_.effort > 0) {
      FrontierOptions least = options_;
      least.effort = 0;
      for (const State& state : find_frontier(common_.model, least, bench_.deadline))
        if (state.outcome.peak_bytes < high) archive_.add(state);
    }
    const int64_t low = archive_.tightest()->outcome.peak_bytes;
    for (int64_t part = 1; part <= kPartsBelow && low < high && !over(); ++part) {
      const int64_t limit = high - (high - low) * part / kPartsBelow;
      last_ = search_below(*archive_.fastest(limit), limit, share);
    }
    keep_one(share);
    for (int64_t peak = archive_.tightest()->outcome.peak_bytes; !over();) {
      const State tightest = *archive_.tightest();
      search_below(tightest, peak - 1, share);
      search_below(last_, peak - 1, share);
      const int64_t now = archive_.tightest()->outcome.peak_bytes;
      if (now == peak) return;
      peak = now;
      last_ = search_below(*archive_.tightest(), peak, share);
    }
  }

  // Evicts everything but one tensor, for each tensor in turn, until `work` is used up.
  void keep_one(int64_t work) {
    const State small = common_.starts->small();
    const int64_t end = bench_.work + work;
    for (const int32_t id : common_.space.items) {
      if (bench_.work >= end || over()) return;
      const bool stays = kind_of(bench_.model, small.decisions, id) == DecisionKind::keep;
      if (stays || bench_.model.tensor(id).host_resident()) continue;
      Decisions decisions = small.decisions;
      decisions.activations[at(id)] = {};
      const State state = bench_.evaluate(std::move(decisions), 0);
      if (state.outcome.possible()) archive_.add(state);
    }
  }

  // A budget between two limits has more room than the lower limit. Uses it in small steps.
  void fill(State state, int64_t limit, int64_t above) {
    for (int part = 1; part < kParts && !over(); ++part) {
      state = relax(bench_, std::move(state), limit + (above - limit) * part / kParts, 1);
      archive_.add(state);
    }
  }

  const Common& common_;
  const FrontierOptions& options_;
  Workbench bench_;
  std::mt19937_64 random_;
  Archive archive_;
  std::vector<std::optional<State>> near_;  // near the minimum, for each amount of spare bytes: the last result
  std::vector<State> with_spare_;           // those results that no stretch has yet
  State last_;            // where the previous limit ended
  const bool bottom_;     // there is no lower segment
  size_t begin_ = 0, end_ = 0, at_ = 0;  // limits: its own range, half-open, and the next one
  int64_t work_ = 0;      // total work allowed
  int64_t above_ = 0;     // the previous limit
  bool ended_ = false;
  std::vector<Stretch> stretches_;  // allocated in full, so references stay valid
  size_t searched_ = 0;
};

Descent::Descent(const Model& model, const FrontierOptions& options, const Descent* other)
    : common_(std::make_unique<Common>(model, options, other ? other->common_.get() : nullptr)) {}
Descent::~Descent() = default;

int64_t Descent::minimum_bytes() const { return common_->starts->small().outcome.peak_bytes; }
bool Descent::pool_binds() const { return common_->starts->pool_binds(); }

void Descent::begin(const Deadline& deadline, int threads) {
  if (common_->begun) return;
  common_->begin(deadline, threads);
  segments_.resize(common_->limits.segments.size());
}

bool Descent::complete() const { return common_->starts->complete(); }
const Limits& Descent::limits() const { return common_->limits; }

const Stretch& Descent::next(size_t segment, const Deadline& deadline) {
  std::unique_ptr<Segment>& mine = segments_[segment];
  if (!mine) mine = std::make_unique<Segment>(*common_, segment);
  return mine->next(deadline);
}

bool Descent::ended(size_t segment) const { return segments_[segment] && segments_[segment]->ended(); }
size_t Descent::searched(size_t segment) const { return segments_[segment] ? segments_[segment]->searched() : 0; }
const Stretch& Descent::stretch(size_t segment, size_t stretch) const { return segments_[segment]->stretch(stretch); }

void Descent::forget(size_t segment) { segments_[segment] = nullptr; }

bool Descent::forget_unfinished() {
  for (std::unique_ptr<Segment>& segment : segments_)
    if (segment && !segment->complete()) segment = nullptr;
  return complete();
}

std::vector<State> find_frontier(const Model& model, const FrontierOptions& options, const Deadline& deadline) {
  Descent descent(model, options);
  descent.begin(deadline);
  Archive archive;
  for (size_t segment = 0; segment < descent.limits().segments.size(); ++segment) {
    while (!descent.ended(segment))
      for (const State& state : descent.next(segment, deadline).states) archive.add(state);
    descent.forget(segment);
  }
  return archive.between(-1, kNoLimit);
}

}  // namespace plimsoll::search
