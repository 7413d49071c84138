#include "passes/search/starts.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <list>

#include "passes/search/chain.h"
#include "passes/search/fit.h"
#include "passes/search/relax.h"

namespace plimsoll::search {
namespace {

constexpr int kRoundsOfRelax = 3;      // for a schedule with checkpoints
constexpr int kCheckpointedTried = 2;  // schedules with checkpoints tried per limit: 2 that fit, 2 that nearly fit
constexpr size_t kNearTried = 6;       // schedules tried per limit that need somewhat more
// Fractions of the links' idle time: in the lowered trace the links may have less than estimated.
constexpr double kShares[] = {1.0, 0.75};

}  // namespace

State minimum_schedule(Workbench& bench, const Means& means) {
  Decisions away = keep_everything(bench.model);
  for (size_t id = 0; id < away.activations.size(); ++id) {
    const ModelTensor& tensor = bench.model.tensors[id];
    if (!tensor.movable || tensor.gap_end == kNever) continue;
    if (means.offload || tensor.input()) away.activations[id] = {.kind = DecisionKind::offload, .again = true};
    else if (means.recompute && tensor.recomputable)
      away.activations[id] = {DecisionKind::recompute, kTransient, true};
  }
  if (means.offload)
    for (ResidenceDecision& residence : away.residences) residence = {.on_host = true, .again = true};
  State minimum = bench.evaluate(away, 0);
  if (!bench.pool_binds) return minimum;
  const auto consider = [&](Decisions decisions) {
    decisions.residences = away.residences;
    State other = bench.evaluate(std::move(decisions), 0);
    if (other.outcome.peak_bytes < minimum.outcome.peak_bytes) minimum = std::move(other);
  };
  consider(keep_everything(bench.model));
  if (means.recompute) {
    const int size = static_cast<int>(std::min<size_t>(bench.model.order.size(), 1024));
    for (int segments = 2; 4 * segments <= size && segments <= 256; segments *= 2)
      for (const int parts : {1, 4})
        consider(checkpoint_decisions(bench.model, {.segments = segments, .parts = parts}));
  }
  return bench.evaluate(minimum.decisions, 0);
}

Starts::Starts(const Model& model, const Means& means, int64_t pool_limit)
    : model_(model), means_(means), bench_(model, {}, pool_limit), linked_(bench_) {
  whole_ = bench_.evaluate(keep_everything(model), kNoLimit);
  small_ = minimum_schedule(bench_, means);
  archive_.add(whole_);
  archive_.add(small_);
}

// The minimum-memory schedule may be impossible (state.h); then the smallest schedule with checkpoints takes its place.
int64_t Starts::least_bytes() const {
  int64_t low = std::min(whole_.outcome.peak_bytes, small_.outcome.peak_bytes);
  if (!small_.outcome.possible())
    for (const State& state : checkpointed_) low = std::min(low, state.outcome.peak_bytes);
  return low;
}

void Starts::find(const Deadline& deadline, int threads) {
  bench_.deadline = deadline;
  if (!means_.recompute) return;
  for (ChainStart& start : chain_starts(model_)) {
    if (bench_.deadline.passed()) break;
    archive_.add(bench_.evaluate(std::move(start.decisions), start.limit));
    chain_ = true;
  }
  const int64_t size = static_cast<int64_t>(model_.order.size());
  std::vector<Checkpoints> all;
  for (double n = 1; n <= 256 && 4 * n <= static_cast<double>(size); n *= 1.5)
    for (const bool cheap : {false, true})
      all.push_back({.segments = static_cast<int>(std::ceil(n)), .cheap_only = cheap});
  for (const int segments : {2, 4, 8, 16, 32})
    for (const int parts : {2, 4, 8})
      if (4 * segments * parts <= size) all.push_back({.segments = segments, .parts = parts});
  if (means_.offload)
    for (const int segments : {4, 8, 16, 32}) all.push_back({.segments = segments, .offloaded = true});
  evaluate_checkpoints(all, threads);
  complete_ = !bench_.deadline.passed();
}

// None depends on another, so threads share them.
void Starts::evaluate_checkpoints(std::span<const Checkpoints> all, int threads) {
  std::vector<std::optional<State>> states(all.size());
  std::atomic<size_t> next = 0;
  const auto evaluate = [&](Workbench& bench) {
    for (size_t i = 0; !bench.deadline.passed() && (i = next++) < all.size();)
      states[i] = bench.evaluate(checkpoint_decisions(model_, all[i]), kNoLimit);
  };
  std::list<Workbench> benches;
  std::list<std::future<void>> others;
  for (int thread = 1; thread < threads; ++thread)
    others.push_back(std::async(std::launch::async, evaluate,
                                std::ref(benches.emplace_back(model_, bench_.deadline, bench_.pool_limit))));
  evaluate(bench_);
  for (std::future<void>& other : others) other.get();
  for (const Workbench& bench : benches) bench_.pool_binds |= bench.pool_binds;
  for (std::optional<State>& state : states)
    if (state) checkpointed_.push_back(std::move(*state));
  std::ranges::stable_sort(checkpointed_, {}, [](const State& state) { return state.outcome.seconds; });
}

std::optional<State> Starts::best_within(Workbench& bench, Archive& archive, const State& last, int64_t limit,
                                         int64_t work) const {
  const Means& all = means_;
  const auto over = [&] { return bench.deadline.passed(); };
  const int64_t enough = bench.work + work;
  std::optional<State> best;
  const auto consider = [&](State state) {
    if (!state.outcome.fits(limit)) return;
    archive.add(state);
    if (!best || state.outcome.seconds < best->outcome.seconds) best = std::move(state);
  };
  const auto fitted = [&](const Decisions& from, const Means& means) {
    if (!over() && (!best || bench.work < enough)) consider(fit(bench, from, limit, means));
  };
  if (const std::optional<State> known = archive.fastest(limit); chain_ && known)
    consider(bench.evaluate(known->decisions, limit));
  for (const double share : kShares) fitted(linked_.decisions(limit, share, all), all);
  // Nearest first. A schedule just above the limit may be a dead end: the bytes that it would have to free are those
  // that it has already freed.
  for (const State& above : archive.between(limit, limit + limit / 3, kNearTried))
    fitted(above.decisions, all);
  for (const Means& means : {all, Means{all.recompute, false}, Means{false, all.offload}})
    for (const State* from : {&last, &whole_}) fitted(from->decisions, means);
  // Where nothing can be offloaded, schedules with checkpoints that fit are tried even if the work is used up: fit()
  // often finds none as fast.
  const bool copies = means_.offload && bench.pool_limit > 0;
  int near = 0, inside = 0;
  for (const State& state : checkpointed_) {
    const bool fits = state.outcome.fits(limit), used_up = best && bench.work >= enough;
    if (over() || (used_up && copies)) break;
    if (!fits && (used_up || state.outcome.peak_bytes / 2 > limit)) continue;
    if ((fits ? inside : near)++ >= kCheckpointedTried) continue;
    consider(fits ? relax(bench, state, limit, kRoundsOfRelax) : fit(bench, state.decisions, limit, all));
  }
  if (best || !small_.outcome.fits(limit)) return best;
  State minimum = bench.evaluate(small_.decisions, limit);
  if (!minimum.outcome.fits(limit)) minimum = small_;
  consider(std::move(minimum));
  return best;
}

}  // namespace plimsoll::search
