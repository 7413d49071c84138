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

// The lifetime of a tensor that is recomputed on the way to another. It stays for its own use if no other tensor on the
// way has a lower level; otherwise it is recomputed once more for that use. So levels express the recursion of
// checkpointing:
//
//   depth      0 . . . 0 . . . 0      every segment is recomputed as a whole, and stays: Chen's plan, one level
//   depth      0 2 1 2 1 2 1 2 0      on the way to the last 2 only the 1s stay; the other 2s are recomputed each
struct Level {
  enum class Kind : uint8_t {
    plain,      // the level of the tensor that is wanted itself does not count
    nested,     // it does: then deeper tensors do not stay
    transient,  // never stays on the way to another ("memory-centric")
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
  // the backward. Otherwise the update comes last, as in the order. Slices reside in the host pool in any case: without
  // `on_host` they are updated in turn, as the links deliver them.
  bool early = false;
  bool again = false;  // evicted between any two uses, not only between forward, backward and update
  friend bool operator==(const ResidenceDecision&, const ResidenceDecision&) = default;
};

// Decisions also matter for tensors that the backward does not access: if kept, they are starting points of
// recomputations. By default they are evicted after their last forward use.
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

// Fills `trace`. The offload of a tensor comes right after its last forward use, its prefetch or load right before its
// next use. copies.h then moves them so that they overlap.
//
// Changes decisions that are impossible to keep: a producer may not be recomputed, or would read a weight after its
// update. Returns false, with the trace unfinished, if it would have more than `longest` steps: repeated eviction can
// make it quadratic in the number of tasks.
bool lower_possible(const Model& model, Decisions& decisions, Trace& trace, size_t longest = kAnyLength);

}  // namespace plimsoll::schedule
