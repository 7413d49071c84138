#include "passes/search/improve.h"

#include <algorithm>

#include "passes/search/price.h"
#include "passes/search/relax.h"
#include "passes/search/twins.h"

namespace plimsoll::search {
namespace {

constexpr uint64_t kRelaxOdds = 10;  // relax() follows a repair with probability 1/10
constexpr int64_t kPatience = 2;   // give up after 1/2 of the work without a clear gain
constexpr double kGain = 1e-4;

class Improver {
 public:
  Improver(const Model& model, const DecisionSpace& space, const Means& means, std::mt19937_64& random)
      : model_(model), means_(means), random_(random), items_(space.items), twins_(space.twins), price_(space.prices) {}

  // Applies one move.
  void apply_move(Decisions& decisions);

 private:
  uint64_t draw(uint64_t below) { return random_() % below; }

  // Sets the decision to that kind, or to another one if the tensor does not allow it.
  void set(Decisions& decisions, int32_t id, DecisionKind kind) const {
    const ModelTensor& tensor = model_.tensor(id);
    if (tensor.host_resident()) {
      const bool on_host = kind != DecisionKind::keep && means_.offload;
      decisions.residences[at(tensor.residence)] = {.on_host = on_host, .early = on_host};
      return;
    }
    if (kind == DecisionKind::recompute && !(tensor.recomputable && means_.recompute)) kind = DecisionKind::offload;
    if (kind == DecisionKind::offload && !(means_.offload || tensor.input()))
      kind = tensor.recomputable && means_.recompute ? DecisionKind::recompute : DecisionKind::keep;
    ActivationDecision& decision = decisions.activations[at(id)] = {.kind = kind};
    if (tensor.gap_end == kNever && kind != DecisionKind::keep) decision = {DecisionKind::recompute, kTransient, true};
  }

  struct Move;
  static const Move kFirst[], kOthers[];

  void flip_one(Decisions& decisions) {
    const int32_t id = items_[draw(items_.size())];
    const DecisionKind kind = kind_of(model_, decisions, id);
    if (kind != DecisionKind::keep && draw(3) != 0) set(decisions, id, DecisionKind::keep);
    else if (kind == DecisionKind::offload) set(decisions, id, DecisionKind::recompute);
    else set(decisions, id, draw(3) == 0 ? DecisionKind::offload : DecisionKind::recompute);
  }

  void flip_several(Decisions& decisions) {
    for (uint64_t n = 2 + draw(3 + items_.size() / 100); n > 0; --n) flip_one(decisions);
  }

  // Keeps the most expensive of a few evicted tensors, or evicts the cheapest of a few kept ones.
  void flip_priced(Decisions& decisions) {
    const bool keep = draw(2) == 0;
    int32_t best = -1;
    for (int tries = 0, seen = 0; tries < 24 && seen < 4; ++tries) {
      const uint64_t item = draw(items_.size());
      const int32_t id = items_[item];
      const bool kept = kind_of(model_, decisions, id) == DecisionKind::keep;
      if (kept == keep || model_.tensor(id).gap_end == kNever) continue;
      ++seen;
      if (best < 0 || (price_[item] > price_[at(best)]) == keep) best = static_cast<int32_t>(item);
    }
    if (best < 0) return flip_one(decisions);
    const int32_t id = items_[at(best)];
    set(decisions, id, keep ? DecisionKind::keep : draw(3) == 0 ? DecisionKind::offload : DecisionKind::recompute);
  }

  // Exchanges the decisions of an offloaded tensor and a recomputed one that is more expensive to recompute.
  void swap(Decisions& decisions) {
    int32_t leaves = -1, again = -1;
    for (int tries = 0; tries < 32 && (leaves < 0 || again < 0); ++tries) {
      const uint64_t item = draw(items_.size());
      const DecisionKind kind = kind_of(model_, decisions, items_[item]);
      if (model_.tensor(items_[item]).gap_end == kNever) continue;
      if (kind == DecisionKind::offload && (again < 0 || price_[item] <= price_[at(again)]))
        leaves = static_cast<int32_t>(item);
      if (kind == DecisionKind::recompute && (leaves < 0 || price_[item] >= price_[at(leaves)]))
        again = static_cast<int32_t>(item);
    }
    if (leaves < 0 || again < 0) return flip_one(decisions);
    set(decisions, items_[at(leaves)], DecisionKind::recompute);
    set(decisions, items_[at(again)], DecisionKind::offload);
  }

  // Gives twins in a range of identical blocks, or in every other block of it, the same decision.
  void flip_twins(Decisions& decisions) {
    const std::vector<int32_t>& twins = twins_[draw(twins_.size())];
    const uint64_t count = draw(2) == 0 ? twins.size() : 2 + draw(twins.size() - 1);
    const uint64_t start = draw(twins.size() - count + 1), stride = 1 + draw(3) / 2;
    const DecisionKind kinds[] = {DecisionKind::keep, DecisionKind::recompute, DecisionKind::offload};
    const DecisionKind kind = kinds[draw(3)];
    const auto depth = static_cast<uint8_t>(1 + draw(3) / 2);
    for (uint64_t i = start; i < start + count; i += stride) {
      set(decisions, twins[i], kind);
      if (model_.tensor(twins[i]).host_resident()) continue;
      ActivationDecision& decision = decisions.activations[at(twins[i])];
      if (decision.kind == DecisionKind::recompute && decision.level != kTransient) decision.level = {.depth = depth};
    }
  }

  // Exchanges the decisions of a kept or offloaded tensor and a neighbour: a checkpoint moves.
  void shift(Decisions& decisions) {
    const uint64_t start = draw(items_.size());
    for (uint64_t i = 0; i < items_.size(); ++i) {
      const uint64_t item = (start + i) % items_.size();
      const DecisionKind kept = kind_of(model_, decisions, items_[item]);
      if (kept == DecisionKind::recompute) continue;
      const uint64_t reach = 1 + draw(6), to = draw(2) == 0 ? item + reach : item - reach;
      if (to >= items_.size()) return;
      set(decisions, items_[item], DecisionKind::recompute);
      set(decisions, items_[to], kept);
      return;
    }
  }

  void keep_window(Decisions& decisions) { set_window(decisions, DecisionKind::keep); }
  void recompute_window(Decisions& decisions) { set_window(decisions, DecisionKind::recompute); }

  void set_window(Decisions& decisions, DecisionKind kind) {
    const uint64_t width = 2 + draw(std::max<uint64_t>(items_.size() / 8, 4));
    const uint64_t start = draw(items_.size());
    for (uint64_t item = start; item < std::min<uint64_t>(start + width, items_.size()); ++item)
      if (model_.tensor(items_[item]).gap_end != kNever) set(decisions, items_[item], kind);
  }

  void relevel(Decisions& decisions) {
    const int32_t id = items_[draw(items_.size())];
    if (kind_of(model_, decisions, id) == DecisionKind::keep) return;
    ActivationDecision& activation = decisions.activations[at(id)];
    const int32_t index = model_.tensor(id).residence;
    ResidenceDecision* const residence = index < 0 ? nullptr : &decisions.residences[at(index)];
    if (draw(2) == 0) {
      bool& again = residence ? residence->again : activation.again;
      again = !again;
      return;
    }
    const auto depth = static_cast<uint8_t>(1 + draw(3));
    if (residence) residence->early = false;
    else activation.level = {.depth = depth};
  }

  const Model& model_;
  const Means means_;
  std::mt19937_64& random_;
  const std::vector<int32_t>& items_;
  const std::vector<std::vector<int32_t>>& twins_;
  const std::vector<double>& price_;
};

// The moves that are tried in turn, each with probability 1 / odds; if none is taken, one of the others, each with
// probability odds / sum of their odds. The number of draws is part of what makes plans reproducible: a change of these
// tables changes plans.
struct Improver::Move {
  uint64_t odds;
  void (Improver::*apply)(Decisions& decisions);
};

const Improver::Move Improver::kFirst[] = {
    {4, &Improver::flip_twins},
    {4, &Improver::flip_priced},
    {8, &Improver::swap},
};

const Improver::Move Improver::kOthers[] = {
    {4, &Improver::flip_one},    {2, &Improver::flip_several},     {1, &Improver::shift},
    {1, &Improver::keep_window}, {1, &Improver::recompute_window}, {1, &Improver::relevel},
};

void Improver::apply_move(Decisions& decisions) {
  for (const Move& move : kFirst) {
    const bool possible = move.apply != &Improver::flip_twins || !twins_.empty();
    if (possible && draw(move.odds) == 0) return (this->*move.apply)(decisions);
  }
  uint64_t all = 0;
  for (const Move& move : kOthers) all += move.odds;
  uint64_t drawn = draw(all);
  for (const Move& move : kOthers) {
    if (drawn < move.odds) return (this->*move.apply)(decisions);
    drawn -= move.odds;
  }
}

}  // namespace

DecisionSpace find_decision_space(const Model& model) {
  DecisionSpace space;
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    const ModelTensor& tensor = model.tensor(id);
    if (tensor.movable && tensor.bytes > 0 && (tensor.gap_end != kNever || tensor.recomputable))
      space.items.push_back(id);
    if (tensor.for_update()) space.items.push_back(id);
  }
  std::ranges::stable_sort(space.items, {}, [&](int32_t id) { return model.tensor(id).gap_begin; });
  for (std::vector<int32_t>& twins : find_twins(model, space.items))
    if (twins.size() > 1) space.twins.push_back(std::move(twins));
  RecomputePrice recompute(model);
  for (const int32_t id : space.items)
    space.prices.push_back(std::max(0.0, recompute.seconds(id)) / static_cast<double>(model.tensor(id).bytes));
  return space;
}

State improve(Workbench& bench, State state, int64_t limit, int64_t work, const DecisionSpace& space,
              const Means& means, std::mt19937_64& random, Archive& archive) {
  if (space.items.empty()) return state;
  Improver improver(bench.model, space, means, random);
  State best = state;
  const int64_t begin = bench.work, end = begin + work;
  int64_t gained = begin;  // work at the last clear gain
  while (bench.work < end && bench.work - gained < work / kPatience && !bench.deadline.passed()) {
    Decisions changed = state.decisions;
    improver.apply_move(changed);
    State next = fit(bench, std::move(changed), limit, means);
    if (!next.outcome.fits(limit)) continue;
    if (random() % kRelaxOdds == 0) next = relax(bench, std::move(next), limit, 1);
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
