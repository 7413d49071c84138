// Lowers per-tensor decisions (keep, offload, recompute) to a sequence of steps.
//
//   decisions  conv.Y keep, relu.Y recompute, x2 offload
//   order      load:x  conv  relu  conv2              …  conv2'                       relu'  conv'
//   lowered    load:x  conv  relu  conv2  offload:x2  …  prefetch:x2  relu(again)  conv2'  relu'  conv'
#pragma once

#include <compare>

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

enum class DecisionKind : uint8_t {
  keep,       // stays on the device from its forward to its backward uses
  offload,    // copied to the host pool and back. A model input is loaded again instead
  recompute,  // evicted, and recomputed from the resident tensors when the backward needs it
};

// How long a tensor stays when it is recomputed on the way to another one. It stays for its own use if no other tensor
// on the way has a lower level; otherwise it is recomputed once more for that use. So levels express the recursion of
// checkpointing:
//
//   depth      0 1 1 1 0 1 1 1 0      0: kept. A segment is recomputed as a whole, and stays: Chen's plan, one level
//   depth      0 2 1 2 1 2 1 2 0      on the way to the last 2 only the 1s stay; each other 2 is recomputed once more
struct Level {
  enum class Kind : uint8_t {
    plain,      // the levels of the tensors that the task requests do not count
    nested,     // they count, so deeper tensors on the way do not stay
    transient,  // the tensor never stays on the way to another ("memory-centric")
  };
  Kind kind = Kind::plain;
  uint8_t depth = 1;
  friend auto operator<=>(const Level&, const Level&) = default;
};
inline constexpr Level kTransient = {Level::Kind::transient, 0};

// The decision for an activation or an input in its gap.
struct ActivationDecision {
  DecisionKind kind = DecisionKind::keep;
  Level level = {};
  bool again = false;  // also evicted between backward uses that are more than kNear steps apart
  friend bool operator==(const ActivationDecision&, const ActivationDecision&) = default;
};

// The decision for a host-resident tensor (model.h). In the host pool, a weight or optimizer state is fetched before
// the tasks that access it and written back after its update. An accumulated gradient is written back after every task
// that adds to it.
struct ResidenceDecision {
  bool on_host = false;
  // With several rounds: the update comes as soon as its gradient is complete, so its copies overlap with the rest of
  // the backward. If false, the update comes last, as in the order. Slices always reside in the host pool. Without
  // `on_host`, each slice's update waits until the links have had time for the copies of the previous one.
  bool early = false;
  bool again = false;  // evicted between any two uses, not only between forward, backward and update
  friend bool operator==(const ResidenceDecision&, const ResidenceDecision&) = default;
};

// One decision for every tensor. It also matters for tensors that the backward does not access: if kept, recomputations
// can start from them. keep_everything() evicts these after their last forward use.
struct Decisions {
  Decisions() = default;
  explicit Decisions(const Model& model)
      : activations(model.tensors.size()), residences(model.all_host_residents.size()) {}
  std::vector<ActivationDecision> activations = {};  // of each tensor; ignored for persistent ones
  std::vector<ResidenceDecision> residences = {};    // of each host-resident tensor (ModelTensor::residence)
  friend bool operator==(const Decisions&, const Decisions&) = default;
};

// Keeps every tensor, and evicts those that the backward does not access. This lowers to the order itself, unless
// weights or states are updated in slices: those are copied, and with several rounds their updates have other places.
Decisions keep_everything(const Model& model);

inline constexpr size_t kAnyLength = std::numeric_limits<size_t>::max();

// Lowers the decisions to `trace`. The offload of a tensor comes right after its last forward use, its prefetch or load
// right before its next use. copies.h then moves them so that they overlap.
//
// Some decisions are impossible: a producer may not be recomputed, or would read a weight after its update. These are
// changed to keep. Returns false, with the trace unfinished, if it would have more than `longest` steps: repeated
// eviction can make it quadratic in the number of tasks.
bool lower_decisions(const Model& model, Decisions& decisions, Trace& trace, size_t longest = kAnyLength);

}  // namespace plimsoll::schedule
