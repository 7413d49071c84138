// Shared by the policies that replay a memory pool step by step (modnn, dymem).
#pragma once

#include <algorithm>
#include <utility>

#include "passes/analysis/liveness.h"
#include "passes/policy.h"
#include "passes/pool/list_pool.h"
#include "passes/schedule/model.h"

namespace plimsoll {

// The bytes of the pool: what persistent tensors leave of the limit.
inline int64_t pool_capacity(const ScheduleRequest& request) {
  if (request.live_limit == kNoLimit) return pool::kUnbounded;
  return std::max<int64_t>(request.live_limit - request.model.persistent_bytes, 0);
}

// Calls body(read, written) for each pair of the task at `position` in the order where the written tensor may take over
// the block of the read one, by the rule of analysis/liveness.h.
template <class Body>
void for_each_takeover(const schedule::Model& model, int32_t position, Body body) {
  const std::span<const int32_t> pairs = model.in_place(model.order[schedule::at(position)].id);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    const schedule::ModelTensor &read = model.tensors[schedule::at(pairs[i])],
                                &written = model.tensors[schedule::at(pairs[i + 1])];
    if (read.is_result || model.next_use(pairs[i], position) != schedule::kNever) continue;
    if (may_take_over(read.copy_bytes, written.copy_bytes)) body(pairs[i], pairs[i + 1]);
  }
}

// Replays a memory pool over the order of tasks. Subclasses decide at each task which tensors leave the device and
// which come back. `Block`: where a tensor lies in the pool, with the flags `resident` and `on_host`.
template <class Block>
class PoolReplay {
 public:
  schedule::Trace run() {
    for (position_ = 0; position_ < static_cast<int32_t>(model_.order.size()); ++position_) {
      const schedule::Op& op = model_.order[schedule::at(position_)];
      if (op.is_task()) {
        step(op);
      } else if (model_.next_use(op.id, -1) == schedule::kNever) {
        trace_.push_back(op);
      } else {
        block(op.id).on_host = true;
        fetch(op.id, Room::as_it_is);  // an input that does not fit now is loaded right before its first reader
      }
    }
    return std::move(trace_);
  }

 protected:
  explicit PoolReplay(const schedule::Model& model) : model_(model), blocks_(model.tensors.size()) {}
  ~PoolReplay() = default;
  virtual void step(const schedule::Op& task) = 0;
  // Gives the tensor a block. Returns false if there is no room for it as it is.
  enum class Room { as_it_is, made };
  virtual bool hold(int32_t id, Room room) = 0;
  virtual void take_over(int32_t read, int32_t written) = 0;

  bool fetch(int32_t id, Room room) {
    const bool held = hold(id, room);
    if (held) trace_.push_back({id, tensor(id).fetch()});
    return held;
  }

  // Makes the operands of the task resident. What it writes takes over a block or gets a new one.
  void hold_operands(int32_t task) {
    for (const int32_t id : model_.reads(task))
      if (!block(id).resident) fetch(id, Room::made);
    for_each_takeover(model_, position_, [&](int32_t read, int32_t written) {
      if (!block(read).resident || block(written).resident) return;
      take_over(read, written);
      block(read).resident = false;
    });
    for (const int32_t id : model_.writes(task))
      if (!block(id).resident) hold(id, Room::made);
  }

  const schedule::ModelTensor& tensor(int32_t id) const { return model_.tensors[schedule::at(id)]; }
  Block& block(int32_t id) { return blocks_[schedule::at(id)]; }

  const schedule::Model& model_;
  std::vector<Block> blocks_;  // of each tensor
  schedule::Trace trace_ = {};
  int32_t position_ = 0;  // of the current step in the order
};

}  // namespace plimsoll
