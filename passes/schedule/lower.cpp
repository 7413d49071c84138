#include "passes/schedule/lower.h"

#include <algorithm>

namespace plimsoll::schedule {

class Lowering::Impl {
 public:
  explicit Impl(const Model& model) : model_(model) {}

  std::optional<int32_t> run(const Decisions& decisions, size_t longest) {
    decisions_ = decisions;
    resident_.assign(model_.tensors.size(), 0);
    on_host_.assign(model_.tensors.size(), 0);
    updated_.assign(model_.tensors.size(), 0);
    wanted_.assign(model_.tasks.size(), 0);
    any_again_ =
        std::any_of(decisions.begin(), decisions.end(), [](const Decision& decision) { return decision.again; });
    fresh_.clear();
    trace_.clear();
    trace_.reserve(model_.order.size() * 3 / 2);
    for (at_ = 0; at_ < static_cast<int32_t>(model_.order.size()); ++at_) {
      const Op& op = model_.order[static_cast<size_t>(at_)];
      if (op.kind != StepKind::compute) {
        trace_.push_back(op);
        resident_[static_cast<size_t>(op.id)] = true;
      } else if (const auto stuck = step(op)) {
        return stuck;
      }
      for (const int32_t tensor : model_.gaps_at[at_]) leave(tensor);
      if (trace_.size() > longest) return kTooLong;
    }
    hasten_updates();
    fetch_host_residents();
    return std::nullopt;
  }

  Trace& trace() { return trace_; }

 private:
  bool resident(int32_t tensor) const { return resident_[static_cast<size_t>(tensor)]; }
  const Decision& decision(int32_t tensor) const { return decisions_[static_cast<size_t>(tensor)]; }
  const ModelTensor& tensor(int32_t id) const { return model_.tensors[static_cast<size_t>(id)]; }

  std::optional<int32_t> step(const Op& op) {
    missing_.clear();
    const Touched::Bounds bounds = model_.touched.bounds(op.id);
    const int32_t* const items = model_.touched.items();
    for (int32_t i = bounds.reads; i < bounds.host_residents; ++i)
      if (!resident(items[i])) missing_.push_back(items[i]);
    if (!missing_.empty())
      if (const auto stuck = bring_back(op.id)) return stuck;
    trace_.push_back(op);
    for (int32_t i = bounds.writes; i < bounds.end; ++i) resident_[static_cast<size_t>(items[i])] = true;
    for (const int32_t id : model_.updated[op.id]) updated_[static_cast<size_t>(id)] = true;
    if (any_again_)
      for (int32_t i = bounds.reads; i < bounds.updates; ++i) leave_again(items[i]);
    return std::nullopt;
  }

  bool comes_early(int32_t task) const {
    const auto early = [&](int32_t id) {
      return (tensor(id).update == task || tensor(id).adds_up) && decision(id).kind == DecisionKind::offload && decision(id).level == kEarly;
    };
    const auto host_residents = model_.host_residents[task];
    return !model_.update_after[task].empty() && std::any_of(host_residents.begin(), host_residents.end(), early);
  }

  // For slices, unless a decision sets the time: each update waits until the links have had time for the copies of the
  // previous one.
  bool comes_in_turn(int32_t task) const {
    const auto host_residents = model_.host_residents[task];
    const auto mine = [&](int32_t id) { return tensor(id).always_on_host && tensor(id).update == task; };
    const auto free = [&](int32_t id) { return !mine(id) || decision(id).kind == DecisionKind::keep; };
    return !model_.update_after[task].empty() && std::any_of(host_residents.begin(), host_residents.end(), mine) && std::all_of(host_residents.begin(), host_residents.end(), free) &&
           !comes_early(task);
  }

  // Seconds on the slower link for the tensors written back after the update.
  double seconds_of_copies(int32_t task) const {
    double seconds = 0;
    for (const int32_t id : model_.host_residents[task])
      if (tensor(id).update == task)
        seconds += model_.links.latency_seconds + static_cast<double>(tensor(id).copy_bytes) /
                   std::min(model_.links.d2h_bytes_per_second, model_.links.h2d_bytes_per_second);
    return seconds;
  }

  // Moves each early update right after the last step that it depends on, which may be another early update. Updates
  // taken in turn keep the order in which they become ready, and are placed no earlier than the links can have
  // delivered them.
  void hasten_updates() {
    std::vector<int32_t> moved;
    for (const int32_t task : model_.early_updates)
      if (comes_early(task) || comes_in_turn(task)) moved.push_back(task);
    if (moved.empty()) return;
    const size_t size = trace_.size();
    std::vector<int32_t> last(model_.tasks.size(), -1);  // last step of each task
    for (size_t step = 0; step < size; ++step)
      if (trace_[step].kind == StepKind::compute) last[static_cast<size_t>(trace_[step].id)] = static_cast<int32_t>(step);
    const auto ready = [&](int32_t task) {
      int32_t step = 0;
      for (const int32_t other : model_.update_after[task]) step = std::max(step, last[static_cast<size_t>(other)]);
      return step;
    };
    const std::vector<int32_t> places = last;  // before any move
    for (const int32_t task : moved) last[static_cast<size_t>(task)] = ready(task);
    std::stable_sort(moved.begin(), moved.end(), [&](int32_t a, int32_t b) { return last[static_cast<size_t>(a)] < last[static_cast<size_t>(b)]; });
    const std::vector<double>& ends = ends_of_steps();
    double copied = 0;  // when the links have delivered the updates placed so far
    std::vector<std::vector<int32_t>> behind(size);  // of each step: updates that follow it
    moved_.assign(model_.tasks.size(), false);
    for (const int32_t task : moved) {
      int32_t step = ready(task);
      if (comes_in_turn(task)) {
        copied = std::max(copied, ends[static_cast<size_t>(step)]) + seconds_of_copies(task);
        // No later than in the order: the next slice may be there.
        while (step + 1 < places[static_cast<size_t>(task)] && ends[static_cast<size_t>(step)] < copied) ++step;
      }
      moved_[static_cast<size_t>(task)] = true;
      behind[static_cast<size_t>(step)].push_back(task);
      last[static_cast<size_t>(task)] = step;
    }
    input_.swap(trace_);
    trace_.clear();
    for (size_t step = 0; step < size; ++step) {
      const Op& op = input_[step];
      if (op.kind != StepKind::compute || !moved_[static_cast<size_t>(op.id)]) trace_.push_back(op);
      for (const int32_t task : behind[step]) trace_.push_back({task, StepKind::compute});
    }
  }

  const std::vector<double>& ends_of_steps() {
    ends_.clear();
    double now = 0;
    for (const Op& op : trace_) {
      if (op.kind == StepKind::compute) now += model_.algorithms_of(op.id, op.again).front().seconds;
      ends_.push_back(now);
    }
    return ends_;
  }

  // Fetches host-resident tensors before each run of tasks that access them. After the run the device copy is dropped,
  // because the host copy still has the same value. It is written back after its update. This step comes last, when
  // every task is known, because recomputations read weights too.
  void fetch_host_residents() {
    const auto away = [&](int32_t id) {
      return tensor(id).always_on_host || decision(id).kind == DecisionKind::offload;
    };
    if (std::none_of(model_.all_host_residents.begin(), model_.all_host_residents.end(), away)) return;
    const std::vector<double>& ends = ends_of_steps();
    // A refetch would take longer than the tasks in between, so the tensor stays.
    const auto soon = [&](int32_t id, int32_t touched, int32_t step) {
      const double between = ends[static_cast<size_t>(step) - 1] - ends[static_cast<size_t>(touched)];
      return between < static_cast<double>(tensor(id).copy_bytes) / model_.links.h2d_bytes_per_second;
    };
    input_.swap(trace_);
    trace_.clear();
    touched_at_.assign(model_.tensors.size(), -1);
    find_gradients_away();
    enum class Part { forward, backward, update };
    int32_t backward = kNever;  // first step of the backward
    size_t mark = 0;
    for (int32_t step = 0; step < static_cast<int32_t>(input_.size()); ++step) {
      const Op& op = input_[static_cast<size_t>(step)];
      if (op.kind != StepKind::compute) {
        trace_.push_back(op);
        continue;
      }
      const TaskKind kind = model_.tasks[static_cast<size_t>(op.id)].kind;
      if (kind != TaskKind::forward && kind != TaskKind::loss) backward = std::min(backward, step);
      const auto part_at = [&](int32_t at) { return at < backward ? Part::forward : Part::backward; };
      const Part here = kind == TaskKind::update ? Part::update : part_at(step);
      const auto host_residents = model_.host_residents[op.id];
      for (const int32_t id : host_residents) {
        if (!away(id)) continue;
        if (tensor(id).adds_up) continue;
        int32_t& touched = touched_at_[static_cast<size_t>(id)];
        if (touched < 0 || (step - touched > kNear && (decision(id).again || (part_at(touched) != here && !soon(id, touched, step))))) trace_.push_back({id, StepKind::prefetch});
        touched = step;
      }
      for (; mark < marks_.size() && marks_[mark].step == step && marks_[mark].kind == StepKind::prefetch; ++mark)
        trace_.push_back({marks_[mark].id, StepKind::prefetch});
      trace_.push_back(op);
      for (; mark < marks_.size() && marks_[mark].step == step; ++mark) trace_.push_back({marks_[mark].id, StepKind::offload});
      for (const int32_t id : host_residents)
        if (away(id) && tensor(id).update == op.id) trace_.push_back({id, StepKind::offload});
    }
  }

  // Finds where accumulated gradients are fetched and written back. A gradient is written back if a task other than an
  // update has added to it. It stays until all its slices are updated, because each update clears its part.
  void find_gradients_away() {
    marks_.clear();
    const auto offloaded = [&](int32_t id) { return tensor(id).adds_up && decision(id).kind == DecisionKind::offload; };
    if (std::none_of(model_.all_host_residents.begin(), model_.all_host_residents.end(), offloaded)) return;
    stretches_.assign(model_.tensors.size(), {});
    const auto ends = [&](int32_t id) {
      const Stretch& stretch = stretches_[static_cast<size_t>(id)];
      if (stretch.added) marks_.push_back({stretch.last, StepKind::offload, id});
    };
    for (int32_t step = 0; step < static_cast<int32_t>(input_.size()); ++step) {
      const Op& op = input_[static_cast<size_t>(step)];
      if (op.kind != StepKind::compute) continue;
      const bool update = model_.tasks[static_cast<size_t>(op.id)].kind == TaskKind::update;
      for (const int32_t id : model_.host_residents[op.id]) {
        if (!tensor(id).adds_up || decision(id).kind != DecisionKind::offload) continue;
        Stretch& stretch = stretches_[static_cast<size_t>(id)];
        const bool leaves = step - stretch.last > kNear && (decision(id).again || update != stretch.update) && !stretch.cleared;
        if (stretch.last < 0 || leaves) {
          ends(id);
          stretch = {};
          marks_.push_back({step, StepKind::prefetch, id});
        }
        const auto updated = model_.updated[op.id];
        stretch = {step, stretch.added || !update, update, stretch.cleared || std::find(updated.begin(), updated.end(), id) != updated.end()};
      }
    }
    for (const int32_t id : model_.all_host_residents) ends(id);
    std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) {
      return a.step != b.step ? a.step < b.step : a.kind == StepKind::prefetch && b.kind == StepKind::offload;
    });
  }

  void leave(int32_t id) {
    switch (decision(id).kind) {
      case DecisionKind::keep: return;
      case DecisionKind::offload:
        if (tensor(id).gap_end == kNever) break;  // no later step needs the copy
        if (!tensor(id).input && !on_host_[static_cast<size_t>(id)]) trace_.push_back({id, StepKind::offload});
        on_host_[static_cast<size_t>(id)] = true;
        break;
      case DecisionKind::recompute: break;
    }
    resident_[static_cast<size_t>(id)] = false;
  }

  // Evicts a tensor between two backward uses.
  void leave_again(int32_t id) {
    if (!decision(id).again || tensor(id).saved || at_ < tensor(id).gap_end ||
        decision(id).kind == DecisionKind::keep)
      return;
    const std::span<const int32_t> uses = model_.read_at[id];
    const auto next = std::upper_bound(uses.begin(), uses.end(), at_);
    if (next != uses.end() && *next - at_ > kNear) resident_[static_cast<size_t>(id)] = false;
  }

  bool comes_by_copy(int32_t id) const { return tensor(id).input || on_host_[static_cast<size_t>(id)]; }

  // Makes missing_ resident by copies and by recomputations in graph order. Each recomputation reads tensors that are
  // resident, arrive by copy, or were just recomputed.
  std::optional<int32_t> bring_back(int32_t for_task) {
    closure_.clear();
    stack_ = missing_;
    while (!stack_.empty()) {
      const int32_t id = stack_.back();
      stack_.pop_back();
      if (comes_by_copy(id)) continue;
      const int32_t task = tensor(id).producer;
      if (task < 0 || !model_.tasks[static_cast<size_t>(task)].recomputable) return id;
      if (wanted_[static_cast<size_t>(task)]) continue;
      for (const int32_t weight : model_.weights[task])
        if (updated_[static_cast<size_t>(weight)]) return stuck(id);
      wanted_[static_cast<size_t>(task)] = true;
      closure_.push_back(task);
      for (const int32_t read : model_.reads[task])
        if (!resident(read)) stack_.push_back(read);
    }
    std::sort(closure_.begin(), closure_.end(), [&](int32_t a, int32_t b) {
      return model_.tasks[static_cast<size_t>(a)].position < model_.tasks[static_cast<size_t>(b)].position;
    });
    // Copies for a recomputation come right before it.
    for (const int32_t task : closure_) {
      wanted_[static_cast<size_t>(task)] = false;
      for (const int32_t read : model_.reads[task]) fetch(read);
      trace_.push_back({task, StepKind::compute, true});
      for (const int32_t id : model_.writes[task]) made(id);  // what the task saved in its first run is there
    }
    for (const int32_t id : missing_) fetch(id);
    settle(for_task);
    return std::nullopt;
  }
  std::optional<int32_t> stuck(int32_t id) {
    for (const int32_t task : closure_) wanted_[static_cast<size_t>(task)] = false;
    return id;
  }

  void fetch(int32_t id) {
    if (resident(id)) return;
    trace_.push_back({id, tensor(id).input ? StepKind::load : StepKind::prefetch});
    resident_[static_cast<size_t>(id)] = true;
  }
  void made(int32_t id) {
    if (!resident(id)) fresh_.push_back(id);
    resident_[static_cast<size_t>(id)] = true;
  }

  // Of the tensors made on the way, those of the lowest level stay; the task's own operands stay in any case.
  void settle(int32_t for_task) {
    const auto own = [&](int32_t id) {
      const auto reads = model_.reads[for_task];
      return std::find(reads.begin(), reads.end(), id) != reads.end();
    };
    uint8_t lowest = kTransient;
    for (const int32_t id : fresh_)
      if (decision(id).kind == DecisionKind::recompute && (!own(id) || decision(id).level >= kNested)) lowest = std::min(lowest, decision(id).level);
    for (const int32_t id : fresh_) {
      if (own(id) || decision(id).kind == DecisionKind::keep) continue;
      if (decision(id).level > lowest || decision(id).level == kTransient) resident_[static_cast<size_t>(id)] = false;
    }
    fresh_.clear();
  }

  const Model& model_;
  std::span<const Decision> decisions_;
  Trace trace_;
  Trace input_;  // input of the rewriting stages
  int32_t at_ = 0;
  std::vector<int32_t> touched_at_;    // of each evicted tensor: the last step that accessed it, or -1
  // For an evicted gradient: the run of steps that access it after a fetch.
  struct Stretch {
    int32_t last = -1;  // the last step so far
    // Some step adds to it; the last step is an update; some step clears it.
    bool added = false, update = false, cleared = false;
  };
  struct Mark {
    int32_t step;
    StepKind kind;
    int32_t id;
  };
  std::vector<Stretch> stretches_;
  std::vector<Mark> marks_;  // fetches and write-backs of gradients
  std::vector<uint8_t> resident_, on_host_, updated_, wanted_;  // flags
  bool any_again_ = false;  // some decision has `again` set
  std::vector<double> ends_;
  std::vector<uint8_t> moved_;  // of each task: an update moved away from its place in the order
  std::vector<int32_t> missing_, stack_, closure_, fresh_;
};

Lowering::Lowering(const Model& model) : impl_(std::make_unique<Impl>(model)) {}
Lowering::~Lowering() = default;

std::optional<int32_t> Lowering::lower_to_steps(const Decisions& decisions, Trace& trace, size_t longest) {
  const std::optional<int32_t> stuck = impl_->run(decisions, longest);
  trace.swap(impl_->trace());
  return stuck;
}

Decisions keep_everything(const Model& model) {
  Decisions decisions(model.tensors.size());
  for (size_t id = 0; id < decisions.size(); ++id)
    if (model.tensors[id].movable && model.tensors[id].gap_end == kNever)
      decisions[id] = {.kind = DecisionKind::recompute, .level = kTransient};
  return decisions;
}

std::optional<int32_t> lower_to_steps(const Model& model, const Decisions& decisions, Trace& trace, size_t longest) {
  return Lowering(model).lower_to_steps(decisions, trace, longest);
}

}  // namespace plimsoll::schedule
