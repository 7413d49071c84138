#include "passes/search/fit.h"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "passes/search/price.h"

namespace plimsoll::search {
namespace {

class Fitter {
 public:
  Fitter(Workbench& bench, const Means& means)
      : bench_(bench),
        model_(bench.model),
        means_(means),
        stuck_(bench.model.tensors.size(), 0),
        recompute_(bench.model),
        touched_(bench.model.tensors.size(), 0) {}

  State run(Decisions decisions, int64_t limit) {
    constexpr auto kSeconds = Workbench::Seconds::where_it_fits;
    State state = bench_.evaluate(std::move(decisions), limit, kSeconds), best = state;
    // Each iteration evicts something more. An eviction may be undone by the need of another, so the number of
    // iterations without progress is limited.
    for (int vain = 0;
         state.outcome.possible() && !state.outcome.fits(limit) && vain < kPatience && !bench_.deadline.passed();
         ++vain) {
      decisions = state.decisions;
      if (!evict(decisions, state.outcome, limit)) break;
      state = bench_.evaluate(decisions, limit, kSeconds);
      if (!state.outcome.possible()) break;
      const auto kind = [](const Decisions& each, size_t id) { return each.activations[id].kind; };
      for (size_t id = 0; id < stuck_.size(); ++id)
        if (kind(decisions, id) == DecisionKind::recompute && kind(state.decisions, id) == DecisionKind::keep)
          stuck_[id] = 1;
      if (!state.outcome.fits(limit) && state.outcome.excess >= best.outcome.excess) continue;
      best = state;
      vain = 0;
    }
    return best;
  }

 private:
  static constexpr size_t kSwept = 50'000;  // steps of the order
  static constexpr int kPeaksPerTurn = 32, kPatience = 8;
  struct Eviction {
    int32_t tensor = 0;
    int32_t first = 0, last = 0;  // range of steps during which it is evicted
    double score = 0;             // seconds per byte
    ActivationDecision activation = {};
    ResidenceDecision residence = {};  // where the tensor is host-resident
    bool lives_on_host = false;  // resides in the host pool: off the device except during its parts
    int32_t number = 0;          // in the order in which evictions were added
  };

  void take(const Eviction& eviction, Decisions& decisions) {
    const ModelTensor& tensor = model_.tensor(eviction.tensor);
    if (tensor.host_resident()) decisions.residences[at(tensor.residence)] = eviction.residence;
    else decisions.activations[at(eviction.tensor)] = eviction.activation;
    evicted_[at(eviction.tensor)] = 1;
    const auto leave = [&](int32_t begin, int32_t end) { live_.add(begin, end, -tensor.bytes); };
    if (eviction.lives_on_host) for_each_absence(eviction.tensor, leave);
    else leave(eviction.first + 1, eviction.last);
  }

  // Seconds that recomputing the tensor adds.
  double recompute_seconds(int32_t tensor, const Decisions& decisions) {
    const auto away = [&](int32_t id) { return decisions.activations[at(id)].kind == DecisionKind::recompute; };
    return recompute_.seconds(tensor, away, [&](int32_t task) { return again_[at(task)] != 0; });
  }

  // Seconds that a copy takes from the tasks, if it overlaps with `beside` seconds of them, and so do the copies of
  // `queued` bytes.
  double shown(int64_t bytes, double beside, int64_t queued) const {
    const double copy = model_.copy_seconds(bytes);
    const double hidden = std::clamp((beside - model_.copy_seconds(queued)) / std::max(copy, 1e-12), 0.0, 1.0);
    return copy * (1 - hidden) + 0.02 * copy;
  }

  // Cost of host residence. Optimizer state moves once per iteration, overlapping with the backward and competing with
  // its fetches. A weight is fetched for the forward and the backward of every round. A gradient is fetched for the
  // backward of every round but the first.
  double host_residence_seconds(const ModelTensor& tensor) const {
    const auto beside_backward = [&] { return shown(tensor.copy_bytes, backward_, fetched_); };
    const double rounds = static_cast<double>(model_.rounds);
    if (tensor.for_update()) return beside_backward() / rounds;
    if (tensor.adds_up()) return beside_backward() * static_cast<double>(model_.rounds - 1) / rounds;
    return shown(tensor.copy_bytes, forward_, fetched_forward_) + beside_backward();
  }

  void look_at_trace() {
    again_.assign(model_.tasks.size(), 0);
    parts_.resize(model_.tensors.size());
    for (const int32_t id : model_.all_host_residents) parts_[at(id)] = {};
    offloaded_ = fetched_ = fetched_forward_ = 0;
    forward_ = backward_ = 0;
    bool backward = false;
    for (size_t step = 0; step < bench_.trace.size(); ++step) {
      const Op& op = bench_.trace[step];
      if (op.kind == StepKind::offload && !model_.tensor(op.id).host_resident())
        offloaded_ += model_.tensor(op.id).copy_bytes;
      if (op.kind == StepKind::prefetch) (backward ? fetched_ : fetched_forward_) += model_.tensor(op.id).copy_bytes;
      if (!op.is_task()) continue;
      if (op.again) again_[at(op.id)] = 1;
      const TaskKind kind = model_.task(op.id).kind;
      backward |= !is_forward(kind);
      for (const int32_t id : model_.host_residents(op.id)) {
        Part& part = parts_[at(id)][kind == TaskKind::update ? 2 : backward ? 1 : 0];
        if (part.first < 0) part.first = static_cast<int32_t>(step);
        part.last = static_cast<int32_t>(step);
      }
      (backward ? backward_ : forward_) += bench_.evaluator.algorithm_of(step).seconds;
    }
  }

  // Evicts the cheapest tensors live at the peak and not accessed there, until the peak is below the limit. Then
  // continues with the next peak, as far as it can be estimated without another evaluation.
  bool evict(Decisions& decisions, const Outcome& outcome, int64_t limit) {
    look_at_trace();
    live_.assign(bench_.evaluator.live());
    evicted_.assign(model_.tensors.size(), 0);
    bool any = false;
    int32_t peak = outcome.peak_op;
    for (int turn = 0; turn < kPeaksPerTurn; ++turn) {
      if (!evict_at(decisions, peak, limit)) return any;
      any = true;
      peak = live_.highest();
      if (live_[peak] <= limit) break;
      if (model_.order.size() > kSwept) return evict_everywhere(decisions, limit), true;
    }
    return any;
  }

  // A graph of a hundred thousand tasks has thousands of peaks, one per recomputed block. Searching all lives for each
  // of them takes too long. So after the highest peak, one pass visits all steps and evicts the cheapest tensors
  // wherever too much is live.
  void evict_everywhere(Decisions& decisions, int64_t limit) {
    const auto& lives = bench_.evaluator.lives();
    // Of each step: lives that may leave from there on.
    std::vector<std::vector<int32_t>> from(bench_.trace.size() + 1);
    for (int32_t life = 0; life < static_cast<int32_t>(lives.size()); ++life) {
      const ModelTensor& tensor = model_.tensor(lives[at(life)].tensor);
      if (tensor.movable && !tensor.host_resident() && tensor.bytes > 0 &&
          lives[at(life)].last > lives[at(life)].first + 1)
        from[at(lives[at(life)].first) + 1].push_back(life);
    }
    const auto dearer = [&](const Eviction& a, const Eviction& b) {
      return std::tie(a.score, a.tensor, a.first) > std::tie(b.score, b.tensor, b.first);
    };
    std::priority_queue<Eviction, std::vector<Eviction>, decltype(dearer)> there(dearer);
    std::vector<Eviction> used;
    for (int32_t step = 0; step < static_cast<int32_t>(bench_.trace.size()); ++step) {
      evictions_.clear();
      for (const int32_t life : from[at(step)])
        if (!evicted_[at(lives[at(life)].tensor)]) consider(lives[at(life)], decisions);
      for (const Eviction& eviction : evictions_) there.push(eviction);
      if (live_[step] <= limit) continue;
      touch(step);
      used.clear();
      while (live_[step] > limit && !there.empty()) {
        const Eviction eviction = there.top();
        there.pop();
        if (eviction.last <= step || evicted_[at(eviction.tensor)]) continue;
        if (touched_[at(eviction.tensor)] == stamp_of_touch_) used.push_back(eviction);
        else take(eviction, decisions);
      }
      for (const Eviction& eviction : used) there.push(eviction);
    }
  }

  bool evict_at(Decisions& decisions, int32_t peak, int64_t limit) {
    evictions_.clear();
    touch(peak);
    const auto& lives = bench_.evaluator.lives();
    for (int32_t life = 0; life < static_cast<int32_t>(lives.size()); ++life) {
      const auto& [tensor, first, last] = lives[at(life)];
      if (first >= peak || last <= peak || evicted_[at(tensor)] || touched_[at(tensor)] == stamp_of_touch_) continue;
      if (model_.tensor(tensor).host_resident()) consider_more(lives[at(life)], decisions);
      else if (model_.tensor(tensor).movable && model_.tensor(tensor).bytes > 0) consider(lives[at(life)], decisions);
    }
    if (means_.offload) consider_host_residents(peak, decisions);
    const auto dearer = [](const Eviction& a, const Eviction& b) {
      return a.score != b.score ? a.score > b.score : a.number > b.number;
    };
    std::ranges::make_heap(evictions_, dearer);  // mostly a few suffice, so no full sort
    const bool any = !evictions_.empty();
    while (live_[peak] > limit && !evictions_.empty()) {
      std::ranges::pop_heap(evictions_, dearer);
      take(evictions_.back(), decisions);
      evictions_.pop_back();
    }
    return any;
  }

  // Marks the tensors that this step accesses, and no others.
  void touch(int32_t step) {
    ++stamp_of_touch_;
    const Op& op = bench_.trace[at(step)];
    if (!op.is_task()) {
      touched_[at(op.id)] = stamp_of_touch_;
      return;
    }
    for (const auto& tensors : {model_.reads(op.id), model_.writes(op.id), model_.host_residents(op.id)})
      for (const int32_t id : tensors) touched_[at(id)] = stamp_of_touch_;
  }

  // Calls body(begin, end), half-open, for the steps at which the tensor would be off the device if it resided in the
  // host pool.
  template <class Body>
  void for_each_absence(int32_t tensor, Body body) const {
    int32_t after = 0;
    for (const Part& part : parts_[at(tensor)]) {
      if (part.first < 0) continue;
      if (after == 0 || part.first - after >= kNear) body(after, part.first);
      after = part.last + 1;
    }
    body(after, static_cast<int32_t>(bench_.trace.size()));
  }

  void add(Eviction eviction, double seconds) {
    eviction.score = seconds / static_cast<double>(model_.tensor(eviction.tensor).bytes);
    eviction.number = static_cast<int32_t>(evictions_.size());
    evictions_.push_back(eviction);
  }

  // Evictions of tensors that reside on the device and are not accessed near the peak. Also, an early update at the
  // peak may be moved to the end.
  void consider_host_residents(int32_t peak, const Decisions& decisions) {
    const Op& op = bench_.trace[at(peak)];
    const int32_t here = op.is_task() ? op.id : model_.tensor(op.id).update;
    if (here >= 0 && !model_.update_after[here].empty())
      for (const int32_t id : model_.host_residents(here)) {
        const ModelTensor& tensor = model_.tensor(id);
        const ResidenceDecision& residence = decisions.residences[at(tensor.residence)];
        const bool early_or_in_turn = residence.on_host ? residence.early : tensor.always_on_host();
        if ((tensor.update != here && !tensor.adds_up()) || !early_or_in_turn || evicted_[at(id)]) continue;
        const ResidenceDecision later = {.on_host = true, .again = residence.again};
        add({.tensor = id, .first = peak - 1, .last = peak + 1, .residence = later},
            1e-3 * host_residence_seconds(tensor));
      }
    for (const int32_t id : model_.all_host_residents) {
      const ModelTensor& tensor = model_.tensor(id);
      if (tensor.always_on_host() || decisions.residences[at(tensor.residence)].on_host || evicted_[at(id)] ||
          touched_[at(id)] == stamp_of_touch_)
        continue;
      bool away = false;
      for_each_absence(id, [&](int32_t begin, int32_t end) { away = away || (begin <= peak && peak < end); });
      if (away)
        add({.tensor = id, .residence = {.on_host = true, .early = true}, .lives_on_host = true},
            host_residence_seconds(tensor));
    }
  }

  // A host-resident weight that is on the device between two uses may be evicted there too.
  void consider_more(const Life& life, const Decisions& decisions) {
    const ModelTensor& tensor = model_.tensor(life.tensor);
    const ResidenceDecision& residence = decisions.residences[at(tensor.residence)];
    if (!residence.again && !tensor.for_update())
      add({.tensor = life.tensor,
           .first = life.first,
           .last = life.last,
           .residence = {.on_host = true, .early = residence.early, .again = true}},
          2 * host_residence_seconds(tensor));
  }

  // The next decision for a tensor that takes bytes at the peak, and its cost.
  void consider(const Life& life, const Decisions& decisions) {
    const int32_t id = life.tensor;
    const ModelTensor& tensor = model_.tensor(id);
    const ActivationDecision& decision = decisions.activations[at(id)];
    const auto next = [&](ActivationDecision activation, double seconds) {
      add({.tensor = id, .first = life.first, .last = life.last, .activation = activation}, seconds);
    };
    if (tensor.gap_end == kNever) {  // only a source of recomputations
      if (decision.kind == DecisionKind::keep)
        next({DecisionKind::recompute, kTransient, true}, recompute_seconds(id, decisions));
      return;
    }
    const bool offload = means_.offload || tensor.input();
    const double again =
        means_.recompute && tensor.recomputable && !stuck_[at(id)] ? recompute_seconds(id, decisions) : -1;
    const double copied = offload ? shown(tensor.input() ? 0 : tensor.copy_bytes, forward_, offloaded_) : -1;
    switch (decision.kind) {
      case DecisionKind::keep:
        if (again >= 0 && (copied < 0 || again <= copied)) next({.kind = DecisionKind::recompute}, again);
        else if (copied >= 0) next({.kind = DecisionKind::offload}, copied);
        return;
      case DecisionKind::offload:
        if (!decision.again) next({DecisionKind::offload, decision.level, true}, copied);
        return;
      case DecisionKind::recompute:
        // It is held for its own use after being recomputed on the way to another tensor.
        if (decision.level < Level{.depth = 4}) {
          const auto deeper = static_cast<uint8_t>(decision.level.depth + 1);
          next({DecisionKind::recompute, {.depth = deeper}, true}, 2 * again + 1e-9);
        } else if (copied >= 0) {
          next({.kind = DecisionKind::offload, .again = true}, copied);
        } else if (decision.level != kTransient) {
          next({DecisionKind::recompute, kTransient, true}, 4 * again + 1e-9);
        }
        return;
    }
  }

  Workbench& bench_;
  const Model& model_;
  const Means means_;
  std::vector<uint8_t> stuck_;    // of each tensor: cannot be recomputed (schedule/lower.h)
  std::vector<uint8_t> again_;    // of each task: currently recomputed
  RecomputePrice recompute_;
  Levels live_;                   // of each step, minus what this iteration has evicted
  std::vector<int32_t> touched_;  // of each tensor: the stamp of the last step that accesses it
  int32_t stamp_of_touch_ = 0;
  std::vector<Eviction> evictions_;
  std::vector<uint8_t> evicted_;    // of each tensor: evicted in this iteration
  struct Part {
    int32_t first = -1, last = -1;
  };
  // Of each tensor that may reside in the host pool: the steps of forward, backward and update that access it.
  std::vector<std::array<Part, 3>> parts_;
  int64_t offloaded_ = 0, fetched_ = 0, fetched_forward_ = 0;  // bytes
  double forward_ = 0, backward_ = 0;       // seconds of the tasks
};

}  // namespace

State fit(Workbench& bench, Decisions decisions, int64_t limit, const Means& means) {
  return Fitter(bench, means).run(std::move(decisions), limit);
}

}  // namespace plimsoll::search
