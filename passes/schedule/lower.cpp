#include "passes/schedule/lower.h"

#include <algorithm>
#include <optional>
#include <utility>

// Lowering has three stages, each from trace to trace. The last two are about host-resident tensors:
//
//   activations   w used … dw complete …  …  update w
//   updates       w used … dw complete  update w  …
//   copies        prefetch:w  w used … prefetch:dw  dw complete  prefetch:w  update w  offload:w  …
namespace plimsoll::schedule {
namespace {

constexpr int32_t kTooLong = -1;

// Evicts activations and inputs as decided, and brings them back right before the tasks that access them.
class ActivationLowering {
 public:
  ActivationLowering(const Model& model, std::span<const ActivationDecision> decisions, Trace& trace)
      : model_(model),
        decisions_(decisions),
        trace_(trace),
        resident_(model.tensors.size()),
        on_host_(model.tensors.size()),
        updated_(model.tensors.size()),
        wanted_(model.tasks.size()),
        any_again_(std::ranges::any_of(decisions, &ActivationDecision::again)) {}

  // Returns a tensor that cannot be recomputed, or kTooLong if the trace exceeds `longest` steps, with the trace
  // unfinished. Another decision for the tensor, or for one of its inputs, helps.
  std::optional<int32_t> run(size_t longest) {
    trace_.clear();
    trace_.reserve(model_.order.size() * 3 / 2);
    for (at_ = 0; at_ < static_cast<int32_t>(model_.order.size()); ++at_) {
      const Op& op = model_.order[at(at_)];
      if (!op.is_task()) {
        trace_.push_back(op);
        resident_[at(op.id)] = true;
      } else if (const auto stuck = step(op)) {
        return stuck;
      }
      for (const int32_t tensor : model_.gaps_at[at_]) leave(tensor);
      if (trace_.size() > longest) return kTooLong;
    }
    return std::nullopt;
  }

 private:
  bool resident(int32_t tensor) const { return resident_[at(tensor)]; }
  const ActivationDecision& decision(int32_t tensor) const { return decisions_[at(tensor)]; }
  const ModelTensor& tensor(int32_t id) const { return model_.tensors[at(id)]; }

  std::optional<int32_t> step(const Op& op) {
    missing_.clear();
    for (const int32_t id : model_.reads_and_updates(op.id))
      if (!resident(id)) missing_.push_back(id);
    if (!missing_.empty())
      if (const auto stuck = bring_back(op.id)) return stuck;
    trace_.push_back(op);
    for (const int32_t id : model_.writes(op.id)) resident_[at(id)] = true;
    for (const int32_t id : model_.updated[op.id]) updated_[at(id)] = true;
    if (any_again_)
      for (const int32_t id : model_.reads(op.id)) leave_again(id);
    return std::nullopt;
  }

  void leave(int32_t id) {
    switch (decision(id).kind) {
      case DecisionKind::keep: return;
      case DecisionKind::offload:
        if (tensor(id).gap_end == kNever) break;  // no later step needs the copy
        if (!tensor(id).input() && !on_host_[at(id)]) trace_.push_back({id, StepKind::offload});
        on_host_[at(id)] = true;
        break;
      case DecisionKind::recompute: break;
    }
    resident_[at(id)] = false;
  }

  // Evicts a tensor between two backward uses.
  void leave_again(int32_t id) {
    if (!decision(id).again || tensor(id).saved || at_ < tensor(id).gap_end ||
        decision(id).kind == DecisionKind::keep)
      return;
    const int32_t next = model_.next_use(id, at_);
    if (next != kNever && next - at_ > kNear) resident_[at(id)] = false;
  }

  bool comes_by_copy(int32_t id) const { return tensor(id).input() || on_host_[at(id)]; }

  // Makes missing_ resident by copies and by recomputations in graph order. Each recomputation reads tensors that are
  // resident, arrive by copy, or were just recomputed.
  std::optional<int32_t> bring_back(int32_t for_task) {
    closure_.clear();
    stack_ = missing_;
    while (!stack_.empty()) {
      const int32_t id = stack_.back();
      stack_.pop_back();
      if (comes_by_copy(id)) continue;
      if (!tensor(id).recomputable) return id;
      const int32_t task = tensor(id).producer;
      if (wanted_[at(task)]) continue;
      for (const int32_t weight : model_.weights[task])
        if (updated_[at(weight)]) return id;
      wanted_[at(task)] = true;
      closure_.push_back(task);
      for (const int32_t read : model_.reads(task))
        if (!resident(read)) stack_.push_back(read);
    }
    std::ranges::sort(closure_, {}, [&](int32_t task) { return model_.tasks[at(task)].position; });
    // Copies for a recomputation come right before it.
    for (const int32_t task : closure_) {
      wanted_[at(task)] = false;
      for (const int32_t read : model_.reads(task)) fetch(read);
      trace_.push_back({task, StepKind::compute, true});
      for (const int32_t id : model_.writes(task)) made(id);  // what the task saved in its first run is there
    }
    for (const int32_t id : missing_) fetch(id);
    settle(for_task);
    return std::nullopt;
  }

  void fetch(int32_t id) {
    if (resident(id)) return;
    trace_.push_back({id, tensor(id).fetch()});
    resident_[at(id)] = true;
  }
  void made(int32_t id) {
    if (!resident(id)) fresh_.push_back(id);
    resident_[at(id)] = true;
  }

  // Of the tensors made on the way, those of the lowest level stay; the task's own operands stay in any case.
  void settle(int32_t for_task) {
    const auto own = [&](int32_t id) { return std::ranges::count(model_.reads(for_task), id) > 0; };
    Level lowest = kTransient;
    for (const int32_t id : fresh_)
      if (decision(id).kind == DecisionKind::recompute && (!own(id) || decision(id).level.kind >= Level::Kind::nested))
        lowest = std::min(lowest, decision(id).level);
    for (const int32_t id : fresh_) {
      if (own(id) || decision(id).kind == DecisionKind::keep) continue;
      if (decision(id).level > lowest || decision(id).level == kTransient) resident_[at(id)] = false;
    }
    fresh_.clear();
  }

  const Model& model_;
  const std::span<const ActivationDecision> decisions_;
  Trace& trace_;
  int32_t at_ = 0;
  std::vector<uint8_t> resident_, on_host_, updated_, wanted_;  // flags
  const bool any_again_;                                        // some decision has `again` set
  std::vector<int32_t> missing_, stack_, closure_, fresh_;
};

// Moves updates, and copies host-resident tensors, as decided. This comes after the stage of activations, because
// recomputations read weights too.
class ResidenceLowering {
 public:
  ResidenceLowering(const Model& model, std::span<const ResidenceDecision> decisions, Trace& trace)
      : model_(model), decisions_(decisions), trace_(trace) {}

  // Moves each early update right after the last step that it depends on, which may be another early update. Updates
  // taken in turn keep the order in which they become ready, and are placed no earlier than the links can have
  // delivered them (ResidenceDecision::early).
  void place_updates() {
    struct Update {
      int32_t task = 0;
      bool in_turn = false;
    };
    std::vector<Update> moved;
    for (const int32_t task : model_.early_updates) {
      const bool early = comes_early(task);
      if (early || comes_in_turn(task)) moved.push_back({task, !early});
    }
    if (moved.empty()) return;
    const size_t size = trace_.size();
    std::vector<int32_t> last(model_.tasks.size(), -1);  // last step of each task
    for (size_t step = 0; step < size; ++step)
      if (trace_[step].is_task()) last[at(trace_[step].id)] = static_cast<int32_t>(step);
    const auto ready = [&](int32_t task) {
      int32_t step = 0;
      for (const int32_t other : model_.update_after[task]) step = std::max(step, last[at(other)]);
      return step;
    };
    const std::vector<int32_t> places = last;  // before any move
    for (const Update& update : moved) last[at(update.task)] = ready(update.task);
    std::ranges::stable_sort(moved, {}, [&](const Update& update) { return last[at(update.task)]; });
    const std::vector<double> ends = ends_of_tasks();
    double copied = 0;                                       // when the links have delivered the updates placed so far
    std::vector<std::vector<int32_t>> behind(size);          // of each step: updates that follow it
    std::vector<uint8_t> moves(model_.tasks.size(), false);  // of each task: an update away from its place in the order
    for (const auto& [task, in_turn] : moved) {
      int32_t step = ready(task);
      if (in_turn) {
        copied = std::max(copied, ends[at(step)]) + seconds_of_copies(task);
        // No later than in the order: the next slice may be there.
        while (step + 1 < places[at(task)] && ends[at(step)] < copied) ++step;
      }
      moves[at(task)] = true;
      behind[at(step)].push_back(task);
      last[at(task)] = step;
    }
    const Trace input = std::exchange(trace_, {});
    trace_.reserve(size);
    for (size_t step = 0; step < size; ++step) {
      const Op& op = input[step];
      if (!op.is_task() || !moves[at(op.id)]) trace_.push_back(op);
      for (const int32_t task : behind[step]) trace_.push_back({task, StepKind::compute});
    }
  }

  // Fetches host-resident tensors before each run of tasks that access them. After the run the device copy is dropped,
  // because the host copy still has the same value. It is written back after its update, an accumulated gradient after
  // every run that adds to it.
  void copy_residents() {
    if (std::ranges::none_of(model_.all_host_residents, [&](int32_t id) { return away(id); })) return;
    const std::vector<double> ends = ends_of_tasks();
    // A refetch would take longer than the tasks in between, so the tensor stays.
    const auto soon = [&](int32_t id, int32_t touched, int32_t step) {
      const double between = ends[at(step) - 1] - ends[at(touched)];
      return between < static_cast<double>(tensor(id).copy_bytes) / model_.links.h2d_bytes_per_second;
    };
    const std::vector<GradientCopy> gradients = copies_of_gradients();
    auto gradient = gradients.begin();
    const Trace input = std::exchange(trace_, {});
    trace_.reserve(2 * input.size());
    std::vector<int32_t> touched_at(model_.tensors.size(), -1);  // of each evicted tensor: the last access so far
    enum class Part { forward, backward, update };
    int32_t backward = kNever;  // first step of the backward
    for (int32_t step = 0; step < static_cast<int32_t>(input.size()); ++step) {
      const Op& op = input[at(step)];
      if (!op.is_task()) {
        trace_.push_back(op);
        continue;
      }
      const TaskKind kind = model_.tasks[at(op.id)].kind;
      if (!is_forward(kind)) backward = std::min(backward, step);
      const auto part_at = [&](int32_t at) { return at < backward ? Part::forward : Part::backward; };
      const Part here = kind == TaskKind::update ? Part::update : part_at(step);
      const auto host_residents = model_.host_residents(op.id);
      for (const int32_t id : host_residents) {
        if (!away(id) || tensor(id).adds_up()) continue;
        int32_t& touched = touched_at[at(id)];
        if (touched < 0 ||
            (step - touched > kNear && (decision(id).again || (part_at(touched) != here && !soon(id, touched, step)))))
          trace_.push_back({id, StepKind::prefetch});
        touched = step;
      }
      for (; gradient != gradients.end() && gradient->step == step && !gradient->back; ++gradient)
        trace_.push_back({gradient->id, StepKind::prefetch});
      trace_.push_back(op);
      for (; gradient != gradients.end() && gradient->step == step; ++gradient)
        trace_.push_back({gradient->id, StepKind::offload});
      for (const int32_t id : host_residents)
        if (away(id) && tensor(id).update == op.id) trace_.push_back({id, StepKind::offload});
    }
  }

 private:
  // Where an accumulated gradient is fetched (before `step`) or written back (after it).
  struct GradientCopy {
    int32_t step = 0;
    bool back = false;
    int32_t id = 0;
  };

  const ModelTensor& tensor(int32_t id) const { return model_.tensors[at(id)]; }
  const ResidenceDecision& decision(int32_t id) const { return decisions_[at(tensor(id).residence)]; }
  bool away(int32_t id) const { return tensor(id).always_on_host() || decision(id).on_host; }

  bool comes_early(int32_t task) const {
    return std::ranges::any_of(model_.host_residents(task), [&](int32_t id) {
      return (tensor(id).update == task || tensor(id).adds_up()) && decision(id).on_host && decision(id).early;
    });
  }

  // For slices, unless a decision sets the time: each update waits until the links have had time for the copies of the
  // previous one.
  bool comes_in_turn(int32_t task) const {
    const auto mine = [&](int32_t id) { return tensor(id).always_on_host() && tensor(id).update == task; };
    const auto free = [&](int32_t id) { return !mine(id) || !decision(id).on_host; };
    const auto host_residents = model_.host_residents(task);
    return std::ranges::any_of(host_residents, mine) && std::ranges::all_of(host_residents, free);
  }

  // Seconds on the slower link for the tensors written back after the update.
  double seconds_of_copies(int32_t task) const {
    double seconds = 0;
    for (const int32_t id : model_.host_residents(task))
      if (tensor(id).update == task)
        seconds += model_.links.latency_seconds + model_.copy_seconds(tensor(id).copy_bytes);
    return seconds;
  }

  // When each step ends if every task is at its fastest and nothing waits; in seconds.
  std::vector<double> ends_of_tasks() const {
    std::vector<double> ends;
    ends.reserve(trace_.size());
    double now = 0;
    for (const Op& op : trace_) {
      if (op.is_task()) now += model_.algorithms_of(op.id, op.again).front().seconds;
      ends.push_back(now);
    }
    return ends;
  }

  // In the order of the trace. A gradient is written back if a task other than an update has added to it. It stays
  // until all its slices are updated, because each update clears its part.
  std::vector<GradientCopy> copies_of_gradients() const {
    // The run of steps that access a gradient after a fetch.
    struct Stretch {
      int32_t last = -1;  // the last step so far
      // Some step adds to it; the last step is an update; some step clears it.
      bool added = false, update = false, cleared = false;
    };
    const auto evicted = [&](int32_t id) { return tensor(id).adds_up() && away(id); };
    if (std::ranges::none_of(model_.all_host_residents, evicted)) return {};
    std::vector<GradientCopy> copies;
    std::vector<Stretch> stretches(model_.tensors.size());
    const auto ends = [&](int32_t id) {
      if (stretches[at(id)].added) copies.push_back({stretches[at(id)].last, true, id});
    };
    for (int32_t step = 0; step < static_cast<int32_t>(trace_.size()); ++step) {
      const Op& op = trace_[at(step)];
      if (!op.is_task()) continue;
      const bool update = model_.tasks[at(op.id)].kind == TaskKind::update;
      for (const int32_t id : model_.host_residents(op.id)) {
        if (!evicted(id)) continue;
        Stretch& stretch = stretches[at(id)];
        const bool leaves =
            step - stretch.last > kNear && (decision(id).again || update != stretch.update) && !stretch.cleared;
        if (stretch.last < 0 || leaves) {
          ends(id);
          stretch = {};
          copies.push_back({step, false, id});
        }
        const bool cleared = stretch.cleared || std::ranges::count(model_.updated[op.id], id) > 0;
        stretch = {step, stretch.added || !update, update, cleared};
      }
    }
    for (const int32_t id : model_.all_host_residents) ends(id);
    std::ranges::stable_sort(copies, {}, [](const GradientCopy& copy) { return std::pair(copy.step, copy.back); });
    return copies;
  }

  const Model& model_;
  const std::span<const ResidenceDecision> decisions_;
  Trace& trace_;
};

}  // namespace

bool lower_possible(const Model& model, Decisions& decisions, Trace& trace, size_t longest) {
  while (const std::optional<int32_t> stuck = ActivationLowering(model, decisions.activations, trace).run(longest)) {
    if (*stuck == kTooLong) return false;
    ActivationDecision& decision = decisions.activations[at(*stuck)];
    PLIMSOLL_CHECK(decision.kind != DecisionKind::keep, "a tensor is missing that was never given up");
    decision = {};
  }
  ResidenceLowering residences(model, decisions.residences, trace);
  residences.place_updates();
  residences.copy_residents();
  return true;
}

Decisions keep_everything(const Model& model) {
  Decisions decisions(model);
  for (size_t id = 0; id < model.tensors.size(); ++id)
    if (model.tensors[id].movable && model.tensors[id].gap_end == kNever)
      decisions.activations[id] = {.kind = DecisionKind::recompute, .level = kTransient};
  return decisions;
}

}  // namespace plimsoll::schedule
