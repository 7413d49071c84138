#include "passes/schedule/lower.h"

#include <algorithm>
#include <optional>
#include <utility>

// Lowering has four stages, each from trace to trace. The last three are about host-resident tensors:
//
//   activations   w used … dw complete …  …  update w
//   updates       w used … dw complete  update w  …
//   residences    prefetch:w  w used … dw complete  prefetch:w  update w  offload:w  …
//   gradients     prefetch:w  w used … prefetch:dw  dw complete  prefetch:w  update w  offload:w  …
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
  const ModelTensor& tensor(int32_t id) const { return model_.tensor(id); }

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
    std::ranges::sort(closure_, {}, [&](int32_t task) { return model_.task(task).position; });
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

// When each step ends if every task is at its fastest and nothing waits; in seconds.
std::vector<double> ends_of_tasks(const Model& model, const Trace& trace) {
  std::vector<double> ends;
  ends.reserve(trace.size());
  double now = 0;
  for (const Op& op : trace) {
    if (op.is_task()) now += model.algorithms_of(op.id, op.again).front().seconds;
    ends.push_back(now);
  }
  return ends;
}

// The host-resident tensors with their decisions.
struct Residences {
  const Model& model;
  std::span<const ResidenceDecision> decisions;

  const ModelTensor& tensor(int32_t id) const { return model.tensor(id); }
  const ResidenceDecision& decision(int32_t id) const { return decisions[at(tensor(id).residence)]; }
  bool lives_on_host(int32_t id) const { return tensor(id).always_on_host() || decision(id).on_host; }

  // True for updates that are moved from their place in the order to right after their gradient.
  bool comes_early(int32_t task) const {
    return !model.update_after[task].empty() && std::ranges::any_of(model.host_residents(task), [&](int32_t id) {
      return (tensor(id).update == task || tensor(id).adds_up()) && decision(id).on_host && decision(id).early;
    });
  }

  // True for updates of slices without a decision: each waits until the links have had time for the copies of the
  // previous one.
  bool comes_in_turn(int32_t task) const {
    const auto host_residents = model.host_residents(task);
    const auto mine = [&](int32_t id) { return tensor(id).always_on_host() && tensor(id).update == task; };
    const auto decided = [&](int32_t id) { return mine(id) && decision(id).on_host; };
    return !model.update_after[task].empty() && std::ranges::any_of(host_residents, mine) &&
           std::ranges::none_of(host_residents, decided) && !comes_early(task);
  }

  // Seconds on the slower link for the tensors written back after the update.
  double seconds_of_copies(int32_t task) const {
    double seconds = 0;
    for (const int32_t id : model.host_residents(task))
      if (tensor(id).update == task) seconds += model.links.latency_seconds + model.copy_seconds(tensor(id).copy_bytes);
    return seconds;
  }
};

// Moves each early update right after the last step that it depends on, which may be another early update. Updates
// taken in turn keep the order in which they become ready, and are placed no earlier than the links can have delivered
// them (ResidenceDecision::early).
void place_updates(const Residences& residences, Trace& trace) {
  const Model& model = residences.model;
  std::vector<int32_t> moved;
  for (const int32_t task : model.early_updates)
    if (residences.comes_early(task) || residences.comes_in_turn(task)) moved.push_back(task);
  if (moved.empty()) return;
  const size_t size = trace.size();
  std::vector<int32_t> last(model.tasks.size(), -1);  // last step of each task
  for (size_t step = 0; step < size; ++step)
    if (trace[step].is_task()) last[at(trace[step].id)] = static_cast<int32_t>(step);
  const auto ready = [&](int32_t task) {
    int32_t step = 0;
    for (const int32_t other : model.update_after[task]) step = std::max(step, last[at(other)]);
    return step;
  };
  const std::vector<int32_t> places = last;  // before any move
  for (const int32_t task : moved) last[at(task)] = ready(task);
  std::stable_sort(moved.begin(), moved.end(), [&](int32_t a, int32_t b) { return last[at(a)] < last[at(b)]; });
  const std::vector<double> ends = ends_of_tasks(model, trace);
  double copied = 0;                                      // when the links have delivered the updates placed so far
  std::vector<Insertion> updates, none;
  std::vector<uint8_t> moves(model.tasks.size(), false);  // of each task: an update away from its place in the order
  for (const int32_t task : moved) {
    int32_t step = ready(task);
    if (residences.comes_in_turn(task)) {
      copied = std::max(copied, ends[at(step)]) + residences.seconds_of_copies(task);
      // No later than in the order: the next slice may be there.
      while (step + 1 < places[at(task)] && ends[at(step)] < copied) ++step;
    }
    moves[at(task)] = true;
    updates.push_back({{task, StepKind::compute}, step + 1});
    last[at(task)] = step;
  }
  const Trace input = std::exchange(trace, {});
  const auto stays = [&](int32_t step) { return !input[at(step)].is_task() || !moves[at(input[at(step)].id)]; };
  insert(updates, none, input, stays, trace);
}

// Fetches host-resident tensors before each run of tasks that access them. After the run the device copy is dropped,
// because the host copy still has the same value. It is written back after its update. This stage comes after the one
// of activations, because recomputations read weights too.
void fetch_residences(const Residences& residences, Trace& trace) {
  const Model& model = residences.model;
  const auto away = [&](int32_t id) { return residences.lives_on_host(id); };
  if (std::ranges::none_of(model.all_host_residents, away)) return;
  const std::vector<double> ends = ends_of_tasks(model, trace);
  // A refetch would take longer than the tasks in between, so the tensor stays.
  const auto soon = [&](int32_t id, int32_t touched, int32_t step) {
    const double between = ends[at(step) - 1] - ends[at(touched)];
    return between < static_cast<double>(residences.tensor(id).copy_bytes) / model.links.h2d_bytes_per_second;
  };
  const Trace input = std::exchange(trace, {});
  trace.reserve(2 * input.size());
  std::vector<int32_t> touched_at(model.tensors.size(), -1);  // of each evicted tensor: the last step that accessed it
  enum class Part { forward, backward, update };
  int32_t backward = kNever;  // first step of the backward
  for (int32_t step = 0; step < static_cast<int32_t>(input.size()); ++step) {
    const Op& op = input[at(step)];
    if (!op.is_task()) {
      trace.push_back(op);
      continue;
    }
    const TaskKind kind = model.task(op.id).kind;
    if (!is_forward(kind)) backward = std::min(backward, step);
    const auto part_at = [&](int32_t at) { return at < backward ? Part::forward : Part::backward; };
    const Part here = kind == TaskKind::update ? Part::update : part_at(step);
    const auto host_residents = model.host_residents(op.id);
    for (const int32_t id : host_residents) {
      if (!away(id) || residences.tensor(id).adds_up()) continue;
      int32_t& touched = touched_at[at(id)];
      if (touched < 0 ||
          (step - touched > kNear &&
           (residences.decision(id).again || (part_at(touched) != here && !soon(id, touched, step)))))
        trace.push_back({id, StepKind::prefetch});
      touched = step;
    }
    trace.push_back(op);
    for (const int32_t id : host_residents)
      if (away(id) && residences.tensor(id).update == op.id) trace.push_back({id, StepKind::offload});
  }
}

// For an evicted gradient: the run of steps that access it after a fetch.
struct Stretch {
  int32_t last = -1;  // the last step so far
  int32_t end = 0;    // the position after it
  // Some step adds to it; the last step is an update; some step clears it.
  bool added = false, update = false, cleared = false;
};

// Fetches accumulated gradients, and writes them back if a task other than an update has added to them. A gradient
// stays until all its slices are updated, because each update clears its part.
void fetch_gradients(const Residences& residences, Trace& trace) {
  const Model& model = residences.model;
  const auto offloaded = [&](int32_t id) { return residences.tensor(id).adds_up() && residences.decision(id).on_host; };
  if (std::ranges::none_of(model.all_host_residents, offloaded)) return;
  std::vector<Insertion> offloads, prefetches;
  std::vector<Stretch> stretches(model.tensors.size());
  const auto ends = [&](int32_t id) {
    const Stretch& stretch = stretches[at(id)];
    if (stretch.added) offloads.push_back({{id, StepKind::offload}, stretch.end});
  };
  int32_t step = -1;  // copies of other host-resident tensors do not count
  for (int32_t position = 0; position < static_cast<int32_t>(trace.size()); ++position) {
    const Op& op = trace[at(position)];
    if (op.is_task() || !residences.tensor(op.id).persistent()) ++step;
    if (!op.is_task()) continue;
    const bool update = model.task(op.id).kind == TaskKind::update;
    for (const int32_t id : model.host_residents(op.id)) {
      if (!offloaded(id)) continue;
      Stretch& stretch = stretches[at(id)];
      const bool leaves = step - stretch.last > kNear && (residences.decision(id).again || update != stretch.update) &&
                          !stretch.cleared;
      if (stretch.last < 0 || leaves) {
        ends(id);
        stretch = {};
        prefetches.push_back({{id, StepKind::prefetch}, position});
      }
      const bool cleared = stretch.cleared || std::ranges::count(model.updated[op.id], id) > 0;
      stretch = {step, position + 1, stretch.added || !update, update, cleared};
    }
  }
  for (const int32_t id : model.all_host_residents) ends(id);
  const Trace input = std::exchange(trace, {});
  const auto stays = [](int32_t) { return true; };
  insert(offloads, prefetches, input, stays, trace);
}

}  // namespace

bool lower_decisions(const Model& model, Decisions& decisions, Trace& trace, size_t longest) {
  while (const std::optional<int32_t> stuck = ActivationLowering(model, decisions.activations, trace).run(longest)) {
    if (*stuck == kTooLong) return false;
    ActivationDecision& decision = decisions.activations[at(*stuck)];
    PLIMSOLL_CHECK(decision.kind != DecisionKind::keep, "a tensor is missing that was never evicted");
    decision = {};
  }
  const Residences residences{model, decisions.residences};
  place_updates(residences, trace);
  fetch_residences(residences, trace);
  fetch_gradients(residences, trace);
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
