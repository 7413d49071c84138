// The second part of lowering (lower.h), from trace to trace: tensors that reside in the host pool, and their updates.
//
//   activations lowered   w used … dw complete …  …  update w
//   updates placed        w used … dw complete  update w  …
//   residences fetched    prefetch:w  w used … dw complete  prefetch:w  update w  offload:w  …
#pragma once

#include <span>

#include "passes/schedule/lower.h"

namespace plimsoll::schedule {

// Moves each early update right after the last step that it depends on, which may be another early update. Updates
// taken in turn keep the order in which they become ready, and are placed no earlier than the links can have delivered
// them (ResidenceDecision::early).
void place_updates(const Model& model, std::span<const ResidenceDecision> decisions, Trace& trace);

// Fetches host-resident tensors before each run of tasks that access them. After the run the device copy is dropped,
// because the host copy still has the same value. It is written back after its update. This step comes last, when every
// task is known, because recomputations read weights too.
void fetch_residences(const Model& model, std::span<const ResidenceDecision> decisions, Trace& trace);

// Where an accumulated gradient is fetched (before `step`) or written back (after it).
struct GradientCopy {
  int32_t step = 0;
  StepKind kind = StepKind::prefetch;
  int32_t id = 0;
};
// By step, fetches first. A gradient is written back if a task other than an update has added to it. It stays until all
// its slices are updated, because each update clears its part.
std::vector<GradientCopy> find_gradient_copies(const Model& model, std::span<const ResidenceDecision> decisions,
                                               const Trace& trace);

// When each step ends if every task is at its fastest and nothing waits; in seconds.
std::vector<double> ends_of_tasks(const Model& model, const Trace& trace);

}  // namespace plimsoll::schedule
