#include "passes/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <tuple>

#include "passes/search/archive.h"
#include "passes/search/chain.h"
#include "passes/search/fit.h"
#include "passes/search/improve.h"
#include "passes/search/linked.h"
#include "passes/search/relax.h"
#include "passes/search/seeds.h"

namespace plimsoll::search {
namespace {

// Limits of the local search by effort: steps evaluated in total (one evaluation of a network of 500 tasks counts 500),
// and evaluations, which end the search of small networks sooner.
constexpr int64_t kWork[] = {500'000, 4'000'000, 40'000'000, 400'000'000};
constexpr int64_t kEvaluations[] = {400, 20'000, 200'000, 2'000'000};

constexpr int kRoundsFromLeast = 16, kRoundsOfSeed = 3;  // rounds of relax()
constexpr int kSeedsTried = 2;  // seeds tried per limit: that many that fit, and that many that nearly fit
constexpr size_t kNearTried = 6;  // schedules tried per limit that need somewhat more
constexpr int kParts = 4;       // steps from one limit up to the next
// Tighter limits start from the results of looser ones; segments run in parallel.
constexpr size_t kLimitsOfSegment = 16;
constexpr size_t kLimitsBefore = 4;  // warm-up limits above a segment, from which its search descends
// Fractions of the links' idle time: in the lowered trace the links may have less than estimated.
constexpr double kShares[] = {1.0, 0.75};

// Memory limits from high to low: geometric, and denser just above the minimum, where the curve is steep.
std::vector<int64_t> limits_between(int64_t low, int64_t high, int64_t count) {
  const double ratio = static_cast<double>(low) / static_cast<double>(high);
  std::vector<int64_t> limits;
  for (int64_t i = 1; i <= count; ++i)
    limits.push_back(static_cast<int64_t>(static_cast<double>(high) * std::pow(ratio, static_cast<double>(i) / static_cast<double>(count + 1))));
  for (const double above : {1.06, 1.03, 1.01, 1.0}) {
    const int64_t limit = static_cast<int64_t>(static_cast<double>(low) * above);
    if (limit < limits.back()) limits.push_back(limit);
  }
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

}  // namespace

// What all segments start from. Constant once begin() has run.
struct Descent::Common {
  Common(const Model& model, const FrontierOptions& options)
      : model(model), options(options), bench(model, options.deadline, options.pool_limit), space(find_decision_space(model)), linked(bench) {
    whole = bench.evaluate(schedule::keep_everything(model), kNoLimit);
    small = minimum_schedule(bench, options.means);
    archive.add(whole);
    archive.add(small);
  }

  void begin(const Deadline& deadline) {
    bench.deadline = deadline;
    add_seeds();
    complete = !over();
    // The minimum-memory schedule may be impossible (state.h); then the smallest seed takes its place.
    const int64_t high = whole.outcome.peak_bytes;
    int64_t low = std::min(high, small.outcome.peak_bytes);
    if (!small.outcome.possible())
      for (const State& seed : tried_seeds) low = std::min(low, seed.outcome.peak_bytes);
    const int64_t size = static_cast<int64_t>(model.order.size());
    const size_t effort = static_cast<size_t>(std::clamp(options.effort, 0, 3));
    const int64_t work = std::min(kWork[effort], kEvaluations[effort] * size);
    limits = limits_between(low, high, std::clamp<int64_t>(work / size / 40, 6, 32));
    share = 2 * work / static_cast<int64_t>(limits.size());  // equal parts for start schedules and for improvement
  }

  bool over() const { return bench.deadline.passed(); }

  // The seeds' own memory and time decide which of them to fit to a limit.
  void add_seeds() {
    if (!options.means.recompute) return;
    for (ChainSeed& seed : chain_seeds(model)) {
      if (over()) return;
      archive.add(bench.evaluate(std::move(seed.decisions), seed.limit));
      chain = true;
    }
    const int64_t size = static_cast<int64_t>(model.order.size());
    std::vector<SegmentSeed> seeds;
    for (double n = 1; n <= 256 && 4 * n <= static_cast<double>(size); n *= 1.5)
      for (const bool cheap : {false, true}) seeds.push_back({.segments = static_cast<int>(std::ceil(n)), .cheap_only = cheap});
    for (const int segments : {2, 4, 8, 16, 32})
      for (const int parts : {2, 4, 8})
        if (4 * segments * parts <= size) seeds.push_back({.segments = segments, .parts = parts});
    if (options.means.offload)
      for (const int segments : {4, 8, 16, 32}) seeds.push_back({.segments = segments, .offload_checkpoints = true});
    for (const SegmentSeed& seed : seeds) {
      if (over()) break;
      tried_seeds.push_back(bench.evaluate(segment_decisions(model, seed), kNoLimit));
    }
    std::stable_sort(tried_seeds.begin(), tried_seeds.end(), [](const State& a, const State& b) { return a.outcome.seconds < b.outcome.seconds; });
  }

  // Range of limits of a segment, half-open.
  std::pair<size_t, size_t> limits_of(size_t segment) const {
    return {segment * kLimitsOfSegment, std::min((segment + 1) * kLimitsOfSegment, limits.size())};
  }

  const Model& model;
  const FrontierOptions options;
  Workbench bench;
  const DecisionSpace space;
  const LinkedSeeds linked;
  Archive archive;
  State whole, small;
  bool begun = false, complete = true;
  bool chain = false;       // the archive has optimal answers
  std::vector<State> tried_seeds;  // fastest first
  std::vector<int64_t> limits;
  int64_t share = 0;        // work per limit
};

class Descent::Segment {
 public:
  Segment(const Common& common, size_t segment)
      : common_(common), options_(common.options), bench_(common.model, {}, common.options.pool_limit), random_(segment + 1), archive_(common.archive), last_(common.whole),
        bottom_(common.limits_of(segment).second == common.limits.size()) {
    std::tie(begin_, end_) = common.limits_of(segment);
    at_ = begin_ - std::min(kLimitsBefore, begin_);
    above_ = at_ == 0 ? common.whole.outcome.peak_bytes : common.limits[at_ - 1];
    work_ = common.share * static_cast<int64_t>(end_ - at_);
  }

  Stretch next(const Deadline& deadline) {
    bench_.deadline = deadline;
    const int64_t above = at_ <= begin_ ? (begin_ == 0 ? kNoLimit : common_.limits[begin_ - 1]) : above_;
    bool more = true;
    do more = !over() && improve_below(common_.limits[at_]);
    while (more && ++at_ <= begin_);
    ended_ = !more || at_ == end_;
    if (ended_ && bottom_ && !over() && (!options_.means.offload || bench_.pool_binds || common_.bench.pool_binds)) lower();
    const bool complete = common_.complete && !over();
    const int64_t below = !complete || (ended_ && bottom_) ? -1 : ended_ ? common_.limits[end_ - 1] : above_;
    ended_ |= !complete;
    return {.states = archive_.between(below, above), .below = below, .last = ended_, .complete = complete, .pool_binds = bench_.pool_binds};
  }

  bool ended() const { return ended_; }
  const Archive& archive() const { return archive_; }
  int64_t work() const { return bench_.work; }

 private:
  bool over() const { return bench_.deadline.passed(); }

  // Limits share the remaining work: if the search ends early at a limit, the tighter ones get the rest. Returns false
  // if there is no schedule within `limit`.
  bool improve_below(int64_t limit) {
    const int64_t share = std::max<int64_t>(work_ - bench_.work, 0) / static_cast<int64_t>(end_ - at_);
    std::optional<State> best = start(last_, limit, share / 2);
    if (!best) return false;
    last_ = improve(bench_, std::move(*best), limit, share / 2, common_.space, options_.means, random_, archive_);
    if (at_ >= begin_) fill(last_, limit, above_);
    above_ = limit;
    return true;
  }

  // Without copies, or with a full host pool, evicting everything may not give the minimum: keeping a small tensor may
  // avoid recomputing it through large ones. So the tightest schedule so far is fitted and perturbed below its own
  // peak, as long as that helps.
  void lower() {
    const int64_t share = common_.share / 2;
    const auto search_below = [&](const State& from, int64_t limit, int64_t work) {
      const State fitted = fit(bench_, from, limit, options_.means);
      if (fitted.outcome.fits(limit)) archive_.add(fitted);
      return improve(bench_, from, limit, work, common_.space, options_.means, random_, archive_);
    };
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

  // Start schedule within `limit`: the best of several. After the first that fits, more are tried as far as `work`
  // allows.
  std::optional<State> start(const State& last, int64_t limit, int64_t work) {
    const Means& all = options_.means;
    const int64_t enough = bench_.work + work;
    std::optional<State> best;
    const auto consider = [&](State state) {
      if (!state.outcome.fits(limit)) return;
      archive_.add(state);
      if (!best || state.outcome.seconds < best->outcome.seconds) best = std::move(state);
    };
    const auto fitted = [&](const State& from, const Means& means) {
      if (!over() && (!best || bench_.work < enough)) consider(fit(bench_, from, limit, means));
    };
    if (const State* known = archive_.fastest(limit); common_.chain && known) consider(bench_.evaluate(known->decisions, limit));
    for (const double share : kShares) fitted({.decisions = common_.linked.decisions(limit, share, all)}, all);
    // Nearest first. A schedule just above the limit may be a dead end: the bytes that it would have to free are those
    // that it has already freed.
    for (const State& above : archive_.nearest_above(limit, limit + limit / 3, kNearTried)) fitted(above, all);
    for (const Means& means : {all, Means{all.recompute, false}, Means{false, all.offload}})
      for (const State* from : {&last, &common_.whole}) fitted(*from, means);
    int near = 0, inside = 0;
    for (const State& seed : common_.tried_seeds) {
      if (over() || (best && bench_.work >= enough)) break;
      const bool fits = seed.outcome.fits(limit);
      if (!fits && seed.outcome.peak_bytes / 2 > limit) continue;
      if ((fits ? inside : near)++ >= kSeedsTried) continue;
      consider(fits ? relax(bench_, seed, limit, kRoundsOfSeed) : fit(bench_, seed, limit, all));
    }
    if (best || !common_.small.outcome.fits(limit)) return best;
    State minimum = bench_.evaluate(common_.small.decisions, limit);
    if (!minimum.outcome.fits(limit)) minimum = common_.small;
    consider(relax(bench_, std::move(minimum), limit, kRoundsFromLeast));
    return best;
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
  State last_;            // where the previous limit ended
  const bool bottom_;     // there is no lower segment
  size_t begin_ = 0, end_ = 0, at_ = 0;  // limits: its own range, half-open, and the next one
  int64_t work_ = 0;      // total work allowed
  int64_t above_ = 0;     // the previous limit
  bool ended_ = false;
};

State minimum_schedule(Workbench& bench, const Means& means) {
  Decisions away = schedule::keep_everything(bench.model);
  for (size_t id = 0; id < away.size(); ++id) {
    const schedule::ModelTensor& tensor = bench.model.tensors[id];
    if (!tensor.movable || tensor.gap_end == schedule::kNever) continue;
    if (means.offload || tensor.input) away[id] = {DecisionKind::offload, 1, true};
    else if (means.recompute && tensor.recomputable) away[id] = {DecisionKind::recompute, schedule::kTransient, true};
  }
  if (means.offload)
    for (const int32_t id : bench.model.all_host_residents)
      away[static_cast<size_t>(id)] = {DecisionKind::offload, 1, true};
  State minimum = bench.evaluate(away, 0);
  if (!bench.pool_binds) return minimum;
  const auto consider = [&](Decisions decisions) {
    for (const int32_t id : bench.model.all_host_residents)
      decisions[static_cast<size_t>(id)] = away[static_cast<size_t>(id)];
    State other = bench.evaluate(std::move(decisions), 0);
    if (other.outcome.peak_bytes < minimum.outcome.peak_bytes) minimum = std::move(other);
  };
  consider(schedule::keep_everything(bench.model));
  if (means.recompute) {
    const int size = static_cast<int>(std::min<size_t>(bench.model.order.size(), 1024));
    for (int segments = 2; 4 * segments <= size && segments <= 256; segments *= 2)
      for (const int parts : {1, 4}) consider(segment_decisions(bench.model, {.segments = segments, .parts = parts}));
  }
  return bench.evaluate(minimum.decisions, 0);
}

Descent::Descent(const Model& model, const FrontierOptions& options) : common_(std::make_unique<Common>(model, options)) {}
Descent::~Descent() = default;

int64_t Descent::minimum_bytes() const { return common_->small.outcome.peak_bytes; }
bool Descent::pool_binds() const { return common_->bench.pool_binds; }

void Descent::begin(const Deadline& deadline) {
  if (common_->begun) return;
  common_->begin(deadline);
  common_->begun = true;
  segments_.resize((common_->limits.size() + kLimitsOfSegment - 1) / kLimitsOfSegment);
}

bool Descent::complete() const { return common_->complete; }
size_t Descent::segments() const { return segments_.size(); }

size_t Descent::segment_of(int64_t limit) const {
  size_t segment = 0;
  while (segment + 1 < segments_.size() && common_->limits[common_->limits_of(segment).second - 1] >= limit) ++segment;
  return segment;
}

size_t Descent::stretches(size_t segment) const {
  const auto [begin, end] = common_->limits_of(segment);
  return end - begin;
}

int64_t Descent::above(size_t segment) const {
  const size_t begin = common_->limits_of(segment).first;
  return begin == 0 ? kNoLimit : common_->limits[begin - 1];
}

Stretch Descent::next(size_t segment, const Deadline& deadline) {
  std::unique_ptr<Segment>& mine = segments_[segment];
  if (!mine) mine = std::make_unique<Segment>(*common_, segment);
  return mine->next(deadline);
}

bool Descent::ended(size_t segment) const { return segments_[segment] && segments_[segment]->ended(); }
void Descent::forget(size_t segment) { segments_[segment].reset(); }

Frontier find_frontier(const Model& model, const FrontierOptions& options) {
  Descent descent(model, options);
  descent.begin(options.deadline);
  Archive archive = descent.common_->archive;
  Frontier frontier;
  frontier.work = descent.common_->bench.work;
  for (size_t segment = 0; segment < descent.segments(); ++segment) {
    while (!descent.ended(segment)) frontier.complete &= descent.next(segment, options.deadline).complete;
    for (const State& state : descent.segments_[segment]->archive().all()) archive.add(state);
    frontier.work += descent.segments_[segment]->work();
    descent.forget(segment);
  }
  frontier.states = archive.take();
  return frontier;
}

}  // namespace plimsoll::search
