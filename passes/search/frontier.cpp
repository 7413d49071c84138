#include "passes/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "passes/search/archive.h"
#include "passes/search/chain.h"
#include "passes/search/fit.h"
#include "passes/search/improve.h"
#include "passes/search/linked.h"
#include "passes/search/relax.h"
#include "passes/search/seeds.h"

namespace plimsoll::search {
namespace {

// Steps evaluated by the local search, in all (an evaluation of a network of 500 tasks is 500), and evaluations: a small
// network is done with sooner.
constexpr int64_t kWork[] = {500'000, 4'000'000, 40'000'000, 400'000'000};
constexpr int64_t kEvaluations[] = {400, 20'000, 200'000, 2'000'000};

constexpr int kRoundsFromLeast = 16, kRoundsOfSeed = 3;  // of relax.h
constexpr int kSeedsTried = 2;  // per target, of those that fit by themselves and of those that nearly do
constexpr int kParts = 4;       // that the way from one limit up to the next is taken in
constexpr double kShares[] = {1.0, 0.75};  // of the links' time: what is woven may find them less free than was thought

// From high to low: geometric, and closer together where it gets steep, just above the least.
std::vector<int64_t> limits_between(int64_t low, int64_t high, int64_t count) {
  const double ratio = static_cast<double>(low) / static_cast<double>(high);
  std::vector<int64_t> limits;
  for (int64_t i = 1; i <= count; ++i)
    limits.push_back(static_cast<int64_t>(static_cast<double>(high) * std::pow(ratio, static_cast<double>(i) / static_cast<double>(count + 1))));
  for (const double above : {1.06, 1.03, 1.01, 1.0}) {
    const int64_t limit = static_cast<int64_t>(static_cast<double>(low) * above);
    if (limit < limits.back()) limits.push_back(limit);
  }
  return limits;
}

}  // namespace

class Descent::Sweep {
 public:
  Sweep(const Model& model, const FrontierOptions& options)
      : model_(model), options_(options), bench_(model, options.deadline, options.pool_limit), decisions_(find_decisions(model)), linked_(bench_) {
    whole_ = bench_.evaluate(schedule::keep_everything(model_), kNoLimit);
    small_ = least_schedule(bench_, options_.means);
    archive_.add(whole_);
    archive_.add(small_);
    last_ = whole_;
  }

  // False: that was the last stretch.
  bool advance(const Deadline& deadline) {
    bench_.deadline = deadline;
    if (limits_.empty()) begin();
    ended_ = over() || !improve_below(limits_[at_]) || ++at_ == limits_.size();
    if (ended_ && !over() && (!options_.means.offload || bench_.pool_binds)) lower();
    complete_ = !over();
    return !ended_;
  }

  const State& small() const { return small_; }
  Archive& archive() { return archive_; }
  int64_t below() const { return ended_ ? -1 : at_ == 0 ? kNoLimit : limits_[at_ - 1]; }
  bool complete() const { return complete_; }
  int64_t work() const { return bench_.work; }
  bool pool_binds() const { return bench_.pool_binds; }

 private:
  bool over() const { return bench_.deadline.passed(); }

  void begin() {
    sow();
    // The least may be out of all proportion (state.h): then the seed that needs least stands for it.
    const int64_t high = whole_.outcome.peak_bytes;
    int64_t low = std::min(high, small_.outcome.peak_bytes);
    if (!small_.outcome.possible())
      for (const State& seed : sown_) low = std::min(low, seed.outcome.peak_bytes);
    const int64_t size = static_cast<int64_t>(model_.order.size());
    const size_t effort = static_cast<size_t>(std::clamp(options_.effort, 0, 3));
    const int64_t work = std::min(kWork[effort], kEvaluations[effort] * size);
    limits_ = limits_between(low, high, std::clamp<int64_t>(work / size / 40, 6, 32));
    end_ = bench_.work + 2 * work;  // as much to begin as to improve
    above_ = high;
  }

  // What the seeds need and take by themselves tells which of them are worth fitting to a target.
  void sow() {
    if (!options_.means.recompute) return;
    for (ChainSeed& seed : chain_seeds(model_)) {
      if (over()) return;
      archive_.add(bench_.evaluate(std::move(seed.fates), seed.limit));
      chain_ = true;
    }
    const int64_t size = static_cast<int64_t>(model_.order.size());
    std::vector<SegmentSeed> seeds;
    for (double n = 1; n <= 256 && 4 * n <= static_cast<double>(size); n *= 1.5)
      for (const bool cheap : {false, true}) seeds.push_back({.segments = static_cast<int>(std::ceil(n)), .cheap_only = cheap});
    for (const int segments : {2, 4, 8, 16, 32})
      for (const int parts : {2, 4, 8})
        if (4 * segments * parts <= size) seeds.push_back({.segments = segments, .parts = parts});
    if (options_.means.offload)
      for (const int segments : {4, 8, 16, 32}) seeds.push_back({.segments = segments, .offload_checkpoints = true});
    for (const SegmentSeed& seed : seeds) {
      if (over()) break;
      sown_.push_back(bench_.evaluate(segment_fates(model_, seed), kNoLimit));
    }
    std::stable_sort(sown_.begin(), sown_.end(), [](const State& a, const State& b) { return a.outcome.seconds < b.outcome.seconds; });
  }

  // Limits share what is left of the work: where the search soon finds nothing more, the tight ones have the rest. False: there is
  // no schedule within `limit`.
  bool improve_below(int64_t limit) {
    const int64_t share = std::max<int64_t>(end_ - bench_.work, 0) / static_cast<int64_t>(limits_.size() - at_);
    std::optional<State> best = start(last_, limit, share / 2);
    if (!best) return false;
    last_ = improve(bench_, std::move(*best), limit, share / 2, decisions_, options_.means, random_, archive_);
    fill(last_, limit, above_);
    above_ = limit;
    return true;
  }

  // Where nothing can be copied, or the host pool has no room for more, what everything away needs may not be the least: a small tensor that stays spares the detour over
  // large ones that make it again. So the tightest schedule so far is fitted and disturbed below its own peak, as long as that helps.
  void lower() {
    const int64_t share = end_ / 2 / static_cast<int64_t>(limits_.size());
    const auto search_below = [&](const State& from, int64_t limit, int64_t work) {
      const State fitted = fit(bench_, from, limit, options_.means);
      if (fitted.outcome.fits(limit)) archive_.add(fitted);
      return improve(bench_, from, limit, work, decisions_, options_.means, random_, archive_);
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

  // A schedule within `limit` to begin with, the best of several; of those after the first that fits, as many as `work` allows.
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
    if (const State* known = archive_.fastest(limit); chain_ && known) consider(bench_.evaluate(known->fates, limit));
    for (const double share : kShares) fitted({.fates = linked_.fates(limit, share, all)}, all);
    for (const Means& means : {all, Means{all.recompute, false}, Means{false, all.offload}})
      for (const State* from : {&last, static_cast<const State*>(&whole_)}) fitted(*from, means);
    int near = 0, inside = 0;
    for (const State& seed : sown_) {
      if (over() || (best && bench_.work >= enough)) break;
      const bool fits = seed.outcome.fits(limit);
      if (!fits && seed.outcome.peak_bytes / 2 > limit) continue;
      if ((fits ? inside : near)++ >= kSeedsTried) continue;
      consider(fits ? relax(bench_, seed, limit, kRoundsOfSeed) : fit(bench_, seed, limit, all));
    }
    if (best || !small_.outcome.fits(limit)) return best;
    State least = bench_.evaluate(small_.fates, limit);
    if (!least.outcome.fits(limit)) least = small_;
    consider(relax(bench_, std::move(least), limit, kRoundsFromLeast));
    return best;
  }

  // A budget between two limits has more room than the lower one: what that buys, in small steps.
  void fill(State state, int64_t limit, int64_t above) {
    for (int part = 1; part < kParts && !over(); ++part) {
      state = relax(bench_, std::move(state), limit + (above - limit) * part / kParts, 1);
      archive_.add(state);
    }
  }

  const Model& model_;
  const FrontierOptions options_;
  Workbench bench_;
  const Decisions decisions_;
  const LinkedSeeds linked_;
  std::mt19937_64 random_{1};
  Archive archive_;
  State whole_, small_;
  bool chain_ = false;       // the archive has exact answers
  std::vector<State> sown_;  // fastest first
  std::vector<int64_t> limits_;
  size_t at_ = 0;            // the next of them
  int64_t end_ = 0;          // of the work
  State last_;               // where the limit before ended
  int64_t above_ = 0;        // that limit
  bool ended_ = false, complete_ = true;
};

State least_schedule(Workbench& bench, const Means& means) {
  Fates away = schedule::keep_everything(bench.model);
  for (size_t id = 0; id < away.size(); ++id) {
    const schedule::ModelTensor& tensor = bench.model.tensors[id];
    if (!tensor.movable || tensor.gap_end == schedule::kNever) continue;
    if (means.offload || tensor.input) away[id] = {FateKind::offload, 1, true};
    else if (means.recompute && tensor.rerunnable) away[id] = {FateKind::recompute, schedule::kTransient, true};
  }
  if (means.offload)
    for (const int32_t home : bench.model.all_homes) away[static_cast<size_t>(home)] = {FateKind::offload, 1, true};
  State least = bench.evaluate(away, 0);
  if (!bench.pool_binds) return least;
  const auto consider = [&](Fates fates) {
    for (const int32_t home : bench.model.all_homes) fates[static_cast<size_t>(home)] = away[static_cast<size_t>(home)];
    State other = bench.evaluate(std::move(fates), 0);
    if (other.outcome.peak_bytes < least.outcome.peak_bytes) least = std::move(other);
  };
  consider(schedule::keep_everything(bench.model));
  if (means.recompute) {
    const int size = static_cast<int>(std::min<size_t>(bench.model.order.size(), 1024));
    for (int segments = 2; 4 * segments <= size && segments <= 256; segments *= 2)
      for (const int parts : {1, 4}) consider(segment_fates(bench.model, {.segments = segments, .parts = parts}));
  }
  return bench.evaluate(least.fates, 0);
}

Descent::Descent(const Model& model, const FrontierOptions& options) : sweep_(std::make_unique<Sweep>(model, options)) {}
Descent::~Descent() = default;

int64_t Descent::least_bytes() const { return sweep_->small().outcome.peak_bytes; }
int64_t Descent::below() const { return sweep_->below(); }
bool Descent::complete() const { return sweep_->complete(); }
bool Descent::pool_binds() const { return sweep_->pool_binds(); }

std::vector<State> Descent::next(const Deadline& deadline) {
  const int64_t above = below();
  sweep_->advance(deadline);
  return sweep_->archive().between(below(), above);
}

Frontier find_frontier(const Model& model, const FrontierOptions& options) {
  Descent descent(model, options);
  while (descent.below() >= 0) descent.sweep_->advance(options.deadline);
  return {descent.sweep_->archive().take(), descent.sweep_->work(), descent.complete()};
}

}  // namespace plimsoll::search
