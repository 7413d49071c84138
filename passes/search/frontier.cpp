#include "passes/search/frontier.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "passes/search/archive.h"
#include "passes/search/fit.h"
#include "passes/search/improve.h"
#include "passes/search/relax.h"
#include "passes/search/seeds.h"

namespace plimsoll::search {
namespace {

// Steps evaluated by the local search, in all (an evaluation of a network of 500 tasks is 500), and evaluations: a small
// network is done with sooner.
constexpr int64_t kWork[] = {500'000, 4'000'000, 40'000'000, 400'000'000};
constexpr int64_t kEvaluations[] = {400, 10'000, 100'000, 1'000'000};

constexpr int kRoundsFromLeast = 16, kRoundsOfSeed = 3;  // of relax.h
constexpr int kSeedsTried = 2;  // per target, of those that fit by themselves and of those that nearly do

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

State least_schedule(Workbench& bench, const Means& means) {
  Fates away = schedule::keep_everything(bench.model);
  for (size_t id = 0; id < away.size(); ++id) {
    const schedule::ModelTensor& tensor = bench.model.tensors[id];
    if (!tensor.movable || tensor.gap_end == schedule::kNever) continue;
    if (means.offload || tensor.input) away[id] = {FateKind::offload, 1, true};
    else if (means.recompute && tensor.rerunnable) away[id] = {FateKind::recompute, schedule::kTransient, true};
  }
  return bench.evaluate(std::move(away), 0);
}

Frontier find_frontier(const Model& model, const FrontierOptions& options) {
  Workbench bench(model, options.deadline);
  Archive archive;
  std::mt19937_64 random(1);
  const State whole = bench.evaluate(schedule::keep_everything(model), kNoLimit);
  const State small = least_schedule(bench, options.means);
  archive.add(whole);
  archive.add(small);
  const int64_t size = static_cast<int64_t>(model.order.size());
  const size_t effort = static_cast<size_t>(std::clamp(options.effort, 0, 3));
  const int64_t work = std::min(kWork[effort], kEvaluations[effort] * size);

  std::vector<Fates> seeds;
  std::vector<int> counts;
  for (double n = 1; n <= 256 && 4 * n <= static_cast<double>(size); n *= 1.5) counts.push_back(static_cast<int>(std::ceil(n)));
  for (const int segments : counts)
    for (const bool cheap : {false, true}) seeds.push_back(segment_fates(model, {.segments = segments, .cheap_only = cheap}));
  for (const int segments : {2, 4, 8, 16, 32})
    for (const int parts : {2, 4, 8})
      if (4 * segments * parts <= size) seeds.push_back(segment_fates(model, {.segments = segments, .parts = parts}));
  if (options.means.offload)
    for (const int segments : {4, 8, 16, 32}) seeds.push_back(segment_fates(model, {.segments = segments, .offload_checkpoints = true}));
  if (!options.means.recompute) seeds.clear();

  // What the seeds need and take by themselves tells which of them are worth fitting to a target.
  std::vector<State> sown;
  for (Fates& seed : seeds) {
    if (options.deadline.passed()) break;
    sown.push_back(bench.evaluate(std::move(seed), kNoLimit));
  }
  std::stable_sort(sown.begin(), sown.end(), [](const State& a, const State& b) { return a.outcome.seconds < b.outcome.seconds; });

  // The least may be out of all proportion (state.h): then the seed that needs least stands for it.
  const int64_t high = whole.outcome.peak_bytes;
  int64_t low = std::min(high, small.outcome.peak_bytes);
  if (!small.outcome.possible())
    for (const State& seed : sown) low = std::min(low, seed.outcome.peak_bytes);
  const std::vector<int64_t> limits = limits_between(low, high, std::clamp<int64_t>(work / size / 40, 6, 32));
  const int64_t share = work / static_cast<int64_t>(limits.size());  // of each limit: as much to begin, as much to improve
  State last = whole;
  for (const int64_t limit : limits) {
    if (options.deadline.passed()) break;
    State best;
    bool found = false;
    const auto consider = [&](State state) {
      if (!state.outcome.fits(limit)) return;
      archive.add(state);
      if (found && best.outcome.seconds <= state.outcome.seconds) return;
      best = std::move(state);
      found = true;
    };
    const Means& all = options.means;
    const int64_t enough = bench.work + share;
    const auto begin = [&](const State& from, const Means& means) {
      if (!found || bench.work < enough) consider(fit(bench, from, limit, means));
    };
    begin(last, all);
    begin(whole, all);
    begin(whole, {all.recompute, false});
    begin(last, {all.recompute, false});
    begin(whole, {false, all.offload});
    begin(last, {false, all.offload});
    int near = 0, inside = 0;
    for (const State& seed : sown) {
      if (found && bench.work >= enough) break;
      const bool fits = seed.outcome.fits(limit);
      if (!fits && seed.outcome.peak_bytes / 2 > limit) continue;
      if ((fits ? inside : near)++ >= kSeedsTried) continue;
      consider(fits ? relax(bench, seed, limit, kRoundsOfSeed) : fit(bench, seed, limit, options.means));
    }
    if (!found) {
      if (!small.outcome.fits(limit)) break;
      best = bench.evaluate(small.fates, limit);
      if (!best.outcome.fits(limit)) best = small;
      best = relax(bench, std::move(best), limit, kRoundsFromLeast);
      archive.add(best);
    }
    last = improve(bench, std::move(best), limit, share, options.means, random, archive);
  }
  return {archive.take(), bench.work, !options.deadline.passed()};
}

}  // namespace plimsoll::search
