// Liveness: which tensors are on the device at which step. These analyses read an ordered plan; it needs no addresses.
//
//   step          0     1     2     3
//   a  written    ##### ##### .     .      residency [0, 1]
//   b  in place   .     ##### ##### .      residency [1, 2], on the bytes of a from step 1 on
//   w  persistent ##### ##### ##### #####  residency [-1, 4]
#pragma once

#include <cstdint>
#include <vector>

#include "passes/context.h"

namespace plimsoll {

// The tensors that the trainer reads at the end of the round: the loss and the count of correct answers.
std::vector<TensorId> kept_to_the_end(const TaskGraph& graph);

// The residency of each tensor during a walk over the steps in issue order.
class ResidencyCursor {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  explicit ResidencyCursor(const Plan& plan);
  // Before: no earlier call went further.
  void move_to(StepId step);

  // Indices into plan.residencies, or kNone: the residency that began last, and the one before it.
  size_t now(TensorId tensor) const { return now_[tensor]; }
  size_t before(TensorId tensor) const { return before_[tensor]; }

 private:
  const std::vector<Residency>& all_;
  std::vector<size_t> order_;  // by first step
  size_t next_ = 0;            // position in order_
  IdVector<TensorId, size_t> now_, before_;
};

// Per residency: true if only the first task after its beginning accesses the tensor. Dymem groups tensors by this
// property (its Algorithm 3). A copy off the device that is still in flight does not count, because its end is not
// decided by the order.
//
//   conv1  relu1  conv2  …  conv1'
//   a####  a                          soon
//          b####  b         b         stays
std::vector<bool> ends_soon(const Plan& plan);

// True if a tensor may be written over another one. It then holds all bytes of that one for its lifetime, so it must
// fill at least half of them.
inline bool may_take_over(int64_t read_bytes, int64_t written_bytes) {
  return written_bytes <= read_bytes && 2 * written_bytes >= read_bytes;
}

// Two residencies (indices) that will share bytes: the task of `step` may write `written` over `read`, and no later
// step accesses `read`. Each residency is `read` of at most one pair and `written` of at most one, so pairs form
// chains. A policy that shares no bytes has no pairs.
struct SharedPair {
  size_t read = 0;
  size_t written = 0;
  int32_t step = 0;
};
std::vector<SharedPair> find_shared_pairs(const Plan& plan, const Policy& policy);

// Bytes live during each step: tensors, and workspaces if algorithms are chosen. Sharing pairs count once. `aligned`:
// sizes are rounded up as in the arena.
std::vector<int64_t> live_bytes(const Plan& plan, const Policy& policy, bool aligned);

// The aligned bytes live at the peak: a lower bound for every placement.
int64_t least_arena_bytes(const Plan& plan, const Context& context);

}  // namespace plimsoll
