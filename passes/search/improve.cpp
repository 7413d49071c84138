#include "passes/search/improve.h"

#include <algorithm>
#include <cmath>

#include "passes/search/relax.h"
#include "passes/search/linked.h"
#include "passes/search/twins.h"

namespace plimsoll::search {
namespace {

using schedule::at;
using schedule::kNever;
using schedule::kTransient;
using schedule::ModelTensor;

constexpr uint64_t kRelaxed = 10;  // run relax() after every 10th repair
constexpr int64_t kPatience = 2;   // give up after 1/2 of the work without a clear gain
constexpr double kGain = 1e-4;

class Improver {
 public:
  Improver(Workbench& bench, const Decisions& decisions, const Means& means, std::mt19937_64& random)
      : model_(bench.model), means_(means), random_(random), items_(decisions.items), twins_(decisions.twins), price_(decisions.prices) {}

  void disturb(Fates& fates) {
    if (!twins_.empty() && draw(4) == 0) return flip_twins(fates);
    if (draw(4) == 0) return flip_priced(fates);
    if (draw(8) == 0) return swap(fates);
    switch (draw(10)) {
      case 0: case 1: case 2: case 3: flip(fates, draw(items_.size())); break;
      case 4: case 5: for (uint64_t n = 2 + draw(3 + items_.size() / 100); n > 0; --n) flip(fates, draw(items_.size())); break;
      case 6: shift(fates); break;
      case 7: window(fates, [&](int32_t id) { return other(id, FateKind::keep); }); break;
      case 8: window(fates, [&](int32_t id) { return other(id, FateKind::recompute); }); break;
      case 9: relevel(fates); break;
    }
  }

 private:
  uint64_t draw(uint64_t below) { return random_() % below; }

  Fate other(int32_t id, FateKind kind) const {
    const ModelTensor& tensor = model_.tensors[at(id)];
    if (tensor.home) return kind == FateKind::keep || !means_.offload ? Fate{} : Fate{FateKind::offload, schedule::kEarly, false};
    if (kind == FateKind::recompute && !(tensor.rerunnable && means_.recompute)) kind = FateKind::offload;
    if (kind == FateKind::offload && !(means_.offload || tensor.input)) kind = tensor.rerunnable && means_.recompute ? FateKind::recompute : FateKind::keep;
    if (tensor.gap_end == kNever) return kind == FateKind::keep ? Fate{} : Fate{FateKind::recompute, kTransient, true};
    return {kind, 1, false};
  }

  void flip(Fates& fates, uint64_t item) {
    const int32_t id = items_[item];
    Fate& fate = fates[at(id)];
    if (fate.kind != FateKind::keep && draw(3) != 0) fate = other(id, FateKind::keep);
    else if (fate.kind == FateKind::offload) fate = other(id, FateKind::recompute);
    else fate = other(id, draw(3) == 0 ? FateKind::offload : FateKind::recompute);
  }

  // Keeps the most expensive of a few evicted tensors, or evicts the cheapest of a few kept ones.
  void flip_priced(Fates& fates) {
    const bool keep = draw(2) == 0;
    int32_t best = -1;
    for (int tries = 0, seen = 0; tries < 24 && seen < 4; ++tries) {
      const uint64_t item = draw(items_.size());
      const int32_t id = items_[item];
      if ((fates[at(id)].kind == FateKind::keep) == keep || model_.tensors[at(id)].gap_end == kNever) continue;
      ++seen;
      if (best < 0 || (price_[item] > price_[at(best)]) == keep) best = static_cast<int32_t>(item);
    }
    if (best < 0) return flip(fates, draw(items_.size()));
    const int32_t id = items_[at(best)];
    fates[at(id)] = other(id, keep ? FateKind::keep : draw(3) == 0 ? FateKind::offload : FateKind::recompute);
  }

  // Exchanges the decisions of an offloaded tensor and a recomputed one that is more expensive to recompute.
  void swap(Fates& fates) {
    int32_t leaves = -1, again = -1;
    for (int tries = 0; tries < 32 && (leaves < 0 || again < 0); ++tries) {
      const uint64_t item = draw(items_.size());
      const FateKind kind = fates[at(items_[item])].kind;
      if (model_.tensors[at(items_[item])].gap_end == kNever) continue;
      if (kind == FateKind::offload && (again < 0 || price_[item] <= price_[at(again)])) leaves = static_cast<int32_t>(item);
      if (kind == FateKind::recompute && (leaves < 0 || price_[item] >= price_[at(leaves)])) again = static_cast<int32_t>(item);
    }
    if (leaves < 0 || again < 0) return flip(fates, draw(items_.size()));
    fates[at(items_[at(leaves)])] = other(items_[at(leaves)], FateKind::recompute);
    fates[at(items_[at(again)])] = other(items_[at(again)], FateKind::offload);
  }

  // Gives twins in a range of identical blocks, or in every other block of it, the same decision.
  void flip_twins(Fates& fates) {
    const std::vector<int32_t>& twins = twins_[draw(twins_.size())];
    const uint64_t count = draw(2) == 0 ? twins.size() : 2 + draw(twins.size() - 1);
    const uint64_t start = draw(twins.size() - count + 1), stride = 1 + draw(3) / 2;
    const FateKind kinds[] = {FateKind::keep, FateKind::recompute, FateKind::offload};
    const FateKind kind = kinds[draw(3)];
    const uint8_t level = static_cast<uint8_t>(1 + draw(3) / 2);
    for (uint64_t i = start; i < start + count; i += stride) {
      Fate& fate = fates[at(twins[i])] = other(twins[i], kind);
      if (fate.kind == FateKind::recompute && fate.level != kTransient) fate.level = level;
    }
  }

  // Exchanges the decisions of a kept or offloaded tensor and a neighbour: a checkpoint moves.
  void shift(Fates& fates) {
    const uint64_t start = draw(items_.size());
    for (uint64_t i = 0; i < items_.size(); ++i) {
      const uint64_t item = (start + i) % items_.size();
      if (fates[at(items_[item])].kind == FateKind::recompute) continue;
      const uint64_t reach = 1 + draw(6), to = draw(2) == 0 ? item + reach : item - reach;
      if (to >= items_.size()) return;
      const FateKind kept = fates[at(items_[item])].kind;
      fates[at(items_[item])] = other(items_[item], FateKind::recompute);
      fates[at(items_[to])] = other(items_[to], kept);
      return;
    }
  }

  template <class Make>
  void window(Fates& fates, Make make) {
    const uint64_t width = 2 + draw(std::max<uint64_t>(items_.size() / 8, 4));
    const uint64_t start = draw(items_.size());
    for (uint64_t item = start; item < std::min<uint64_t>(start + width, items_.size()); ++item)
      if (model_.tensors[at(items_[item])].gap_end != kNever) fates[at(items_[item])] = make(items_[item]);
  }

  void relevel(Fates& fates) {
    Fate& fate = fates[at(items_[draw(items_.size())])];
    if (fate.kind == FateKind::keep) return;
    if (draw(2) == 0) fate.again = !fate.again;
    else fate.level = static_cast<uint8_t>(1 + draw(3));
  }

  const Model& model_;
  const Means means_;
  std::mt19937_64& random_;
  const std::vector<int32_t>& items_;
  const std::vector<std::vector<int32_t>>& twins_;
  const std::vector<double>& price_;
};

}  // namespace

Decisions find_decisions(const Model& model) {
  Decisions decisions;
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    const ModelTensor& tensor = model.tensors[at(id)];
    if (tensor.movable && tensor.bytes > 0 && (tensor.gap_end != kNever || tensor.rerunnable)) decisions.items.push_back(id);
    if (tensor.for_update) decisions.items.push_back(id);
  }
  std::stable_sort(decisions.items.begin(), decisions.items.end(), [&](int32_t a, int32_t b) {
    return model.tensors[at(a)].gap_begin < model.tensors[at(b)].gap_begin;
  });
  for (std::vector<int32_t>& twins : find_twins(model, decisions.items))
    if (twins.size() > 1) decisions.twins.push_back(std::move(twins));
  for (const int32_t id : decisions.items)
    decisions.prices.push_back(std::max(0.0, seconds_again(model, id)) / static_cast<double>(model.tensors[at(id)].bytes));
  return decisions;
}

State improve(Workbench& bench, State state, int64_t limit, int64_t work, const Decisions& decisions, const Means& means,
              std::mt19937_64& random, Archive& archive) {
  if (decisions.items.empty()) return state;
  Improver improver(bench, decisions, means, random);
  State best = state;
  const int64_t end = bench.work + work;
  const int64_t begin = bench.work;
  int64_t gained = begin;  // work at the last clear gain
  while (bench.work < end && bench.work - gained < work / kPatience && !bench.deadline.passed()) {
    State next = state;
    improver.disturb(next.fates);
    // Nothing changed, so the result is known.
    if (next.limit == limit && next.fates == state.fates) bench.work += state.work;
    else next = fit(bench, std::move(next), limit, means);
    if (!next.outcome.fits(limit)) continue;
    if (random() % kRelaxed == 0) next = relax(bench, std::move(next), limit, 1);
    archive.add(next);
    const double progress = static_cast<double>(bench.work - begin) / static_cast<double>(work);
    const double tolerance = 0.003 * (1 - progress) * (1 - progress);
    const double luck = static_cast<double>(random() >> 11) * 0x1p-53;
    if (next.outcome.seconds < state.outcome.seconds * (1 + tolerance * luck)) state = std::move(next);
    if (state.outcome.seconds >= best.outcome.seconds) continue;
    if (state.outcome.seconds < best.outcome.seconds * (1 - kGain)) gained = bench.work;
    best = state;
  }
  return best;
}

}  // namespace plimsoll::search
