#include "passes/schedule/lower.h"

#include <algorithm>

#include "passes/schedule/residences.h"

namespace plimsoll::schedule {

// The first stage of lowering: activations and inputs. residences.h has the stages that follow.
class Lowering::Impl {
 public:
  explicit Impl(const Model& model) : model_(model) {}

  std::optional<int32_t> run(const Decisions& decisions, size_t longest) {
    decisions_ = decisions.activations;
    resident_.assign(model_.tensors.size(), 0);
    on_host_.assign(model_.tensors.size(), 0);
    updated_.assign(model_.tensors.size(), 0);
    wanted_.assign(model_.tasks.size(), 0);
    any_again_ =
        std::any_of(decisions_.begin(), decisions_.end(), [](const ActivationDecision& each) { return each.again; });
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
    place_updates(model_, decisions.residences, trace_);
    fetch_residences(model_, decisions.residences, trace_);
    return std::nullopt;
  }

  Trace& trace() { return trace_; }

 private:
  bool resident(int32_t tensor) const { return resident_[static_cast<size_t>(tensor)]; }
  const ActivationDecision& decision(int32_t tensor) const { return decisions_[static_cast<size_t>(tensor)]; }
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

  void leave(int32_t id) {
    switch (decision(id).kind) {
      case DecisionKind::keep: return;
      case DecisionKind::offload:
        if (tensor(id).gap_end == kNever) break;  // no later step needs the copy
        if (!tensor(id).input() && !on_host_[static_cast<size_t>(id)]) trace_.push_back({id, StepKind::offload});
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

  bool comes_by_copy(int32_t id) const { return tensor(id).input() || on_host_[static_cast<size_t>(id)]; }

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
    trace_.push_back({id, tensor(id).input() ? StepKind::load : StepKind::prefetch});
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
    Level lowest = kTransient;
    for (const int32_t id : fresh_)
      if (decision(id).kind == DecisionKind::recompute && (!own(id) || decision(id).level.kind >= Level::Kind::nested))
        lowest = std::min(lowest, decision(id).level);
    for (const int32_t id : fresh_) {
      if (own(id) || decision(id).kind == DecisionKind::keep) continue;
      if (decision(id).level > lowest || decision(id).level == kTransient) resident_[static_cast<size_t>(id)] = false;
    }
    fresh_.clear();
  }

  const Model& model_;
  std::span<const ActivationDecision> decisions_;
  Trace trace_;
  int32_t at_ = 0;
  std::vector<uint8_t> resident_, on_host_, updated_, wanted_;  // flags
  bool any_again_ = false;                                      // some decision has `again` set
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
  Decisions decisions(model);
  for (size_t id = 0; id < model.tensors.size(); ++id)
    if (model.tensors[id].movable && model.tensors[id].gap_end == kNever)
      decisions.activations[id] = {.kind = DecisionKind::recompute, .level = kTransient};
  return decisions;
}

std::optional<int32_t> lower_to_steps(const Model& model, const Decisions& decisions, Trace& trace, size_t longest) {
  return Lowering(model).lower_to_steps(decisions, trace, longest);
}

}  // namespace plimsoll::schedule
