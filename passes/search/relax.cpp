#include "passes/search/relax.h"

#include <algorithm>
#include <functional>

namespace plimsoll::search {
namespace {

// A tensor that is off the device for one or several intervals. A host-resident tensor is off the device at all steps
// except its lives.
struct Absence {
  int32_t tensor = 0;
  int32_t first = 0, last = 0;  // lives of the tensor, in the order of the trace, as indices of `lives`
  double score = 0;             // its cost in seconds per byte
};

class Relaxer {
 public:
  explicit Relaxer(Workbench& bench) : bench_(bench), model_(bench.model) {}

  // Keeps evicted tensors of the last evaluated state while there is room. Returns false if none fits.
  bool keep(Decisions& decisions, int64_t limit) {
    find_absences(decisions);
    find_live();
    bool any = false;
    for (const Absence& absence : absences_) {
      const int64_t bytes = model_.tensor(absence.tensor).bytes;
      if (!has_room(absence, limit - bytes)) continue;
      for_each_stretch(absence, [&](int32_t begin, int32_t end) { live_.add(begin, end, bytes); });
      if (const ModelTensor& tensor = model_.tensor(absence.tensor); tensor.host_resident())
        decisions.residences[at(tensor.residence)] = {};
      else decisions.activations[at(absence.tensor)] = {};
      any = true;
    }
    return any;
  }

 private:
  // Workspaces use the free bytes, so only the smallest workspace of each task counts.
  void find_live() {
    std::vector<int64_t> live = bench_.evaluator.live();
    for (size_t step = 0; step < bench_.trace.size(); ++step)
      if (const Op& op = bench_.trace[step]; op.is_task())
        live[step] -= bench_.evaluator.algorithm_of(step).workspace_bytes -
                      model_.algorithms_of(op.id, op.again).back().workspace_bytes;
    live_.assign(live);
  }

  void find_absences(const Decisions& decisions) {
    runs_.assign(model_.tasks.size(), 0);
    for (const Op& op : bench_.trace)
      if (op.again) ++runs_[at(op.id)];
    lives_ = bench_.evaluator.lives();
    std::ranges::stable_sort(lives_, {}, &Life::tensor);
    absences_.clear();
    for (int32_t first = 0; first < static_cast<int32_t>(lives_.size());) {
      int32_t last = first;
      const int32_t tensor = lives_[at(first)].tensor;
      while (last + 1 < static_cast<int32_t>(lives_.size()) && lives_[at(last + 1)].tensor == tensor) ++last;
      if ((last > first || model_.tensor(tensor).host_resident()) && model_.tensor(tensor).bytes > 0 &&
          kind_of(model_, decisions, tensor) != DecisionKind::keep)
        absences_.push_back(
            {tensor, first, last,
             seconds_of(tensor, last - first + 1, decisions) / static_cast<double>(model_.tensor(tensor).bytes)});
      first = last + 1;
    }
    std::ranges::stable_sort(absences_, std::greater<>(), &Absence::score);
  }

  double seconds_of(int32_t id, int32_t lives, const Decisions& decisions) const {
    const ModelTensor& tensor = model_.tensor(id);
    const double copy = model_.copy_seconds(tensor.copy_bytes);
    if (tensor.host_resident())
      return tensor.for_update() ? copy / static_cast<double>(model_.rounds) : copy * static_cast<double>(lives);
    if (tensor.input()) return 0;  // loaded again, whatever its decision
    if (decisions.activations[at(id)].kind == DecisionKind::offload) return copy;
    return static_cast<double>(runs_[at(tensor.producer)]) * model_.seconds_again(tensor.producer);
  }

  // Calls body(begin, end), half-open, for the steps at which the tensor is off the device.
  template <class Body>
  void for_each_stretch(const Absence& absence, Body body) const {
    if (model_.tensor(absence.tensor).host_resident()) {
      body(0, lives_[at(absence.first)].first);
      body(lives_[at(absence.last)].last + 1, static_cast<int32_t>(bench_.trace.size()));
    }
    for (int32_t life = absence.first; life < absence.last; ++life)
      body(lives_[at(life)].last + 1, lives_[at(life + 1)].first);
  }

  bool has_room(const Absence& absence, int64_t most) const {
    bool room = true;
    for_each_stretch(absence, [&](int32_t begin, int32_t end) { room = room && !live_.exceeds(begin, end, most); });
    return room;
  }

  Workbench& bench_;
  const Model& model_;
  std::vector<int32_t> runs_;   // of each task: number of recomputations
  std::vector<Life> lives_;     // by tensor
  Levels live_;                 // bytes of each step, including what has been kept so far
  std::vector<Absence> absences_;
};

}  // namespace

State relax(Workbench& bench, State state, int64_t limit, int rounds) {
  Relaxer relaxer(bench);
  State best = bench.evaluate(std::move(state.decisions), limit);
  for (int round = 0; round < rounds && !bench.deadline.passed(); ++round) {
    Decisions decisions = best.decisions;
    if (!relaxer.keep(decisions, limit)) break;
    State next = bench.evaluate(std::move(decisions), limit, Workbench::Seconds::where_it_fits);
    if (!next.outcome.fits(limit) || next.outcome.seconds >= best.outcome.seconds) break;
    best = std::move(next);
  }
  return best;
}

}  // namespace plimsoll::search
