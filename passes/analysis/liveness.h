// Who is live when. Const analyses over an ordered plan; addresses are not needed.
//
//   step          0     1     2     3
//   a  written    ##### ##### .     .      residency [0, 1]
//   b  in place   .     ##### ##### .      residency [1, 2], on the bytes of a from step 1 on
//   w  persistent ##### ##### ##### #####  residency [-1, 4]
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// What the trainer reads when the round is over: the loss and the count of correct answers.
std::vector<TensorId> kept_to_the_end(const TaskGraph& graph);

// Residencies in issue order of their first step, offsets 0. A residency begins where a tensor is written, loaded or
// prefetched and ends at its last touch before the next beginning; a `kept` tensor outlives the last step, which is
// written as last_step = number of steps.
std::vector<Residency> find_residencies(const Plan& plan, const std::vector<TensorId>& kept);

// Two residencies (indices) that shall share bytes: the task of `step` may write `written` over `read`, and nobody
// touches `read` afterwards. Each residency is at most once a `read` and at most once a `written`, so pairs form chains.
struct SharedPair {
  size_t read = 0;
  size_t written = 0;
  int32_t step = 0;
};
std::vector<SharedPair> find_shared_pairs(const Plan& plan);

// Bytes live during each step: tensors, and workspaces where algorithms are chosen; pairs that share count once.
// `aligned`: every tensor and workspace rounded up as the arena has them, which bounds every placement from below.
std::vector<int64_t> live_bytes(const Plan& plan, const std::vector<SharedPair>& shared, bool aligned);

}  // namespace plimsoll
