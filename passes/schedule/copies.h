// Decides when copies are issued. A copy occupies device memory from the time its destination or source is reserved
// until it is released. Its position among the tasks therefore decides both memory and overlap.
//
//   compute   | conv1 | relu1 | conv2 | relu2 |  …   a  as lowered: the next user of the bytes of x waits for the copy
//   offload a         |xxxxxxxxxxxxxxx|              b  as timed: the bytes are released when the copy should be
//                     ^ issued, bytes wanted back       complete, if there is room until then
//   offload b         |xxxxxxxxxxxxxxx^
//
// Prefetches mirror this: the latest start that still completes in time, or as early as there is room.
#pragma once

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

// Facts about the steps of a trace, as evaluate.h finds them.
struct TraceFacts {
  std::span<const int64_t> live;      // bytes
  std::span<const double> seconds;    // of each task's step
  std::span<const int32_t> made_at;   // of each offload: the step that wrote or updated its tensor
  std::span<const int32_t> left_at;   // of each fetch: the last access to its tensor before it, or -1
};

// The live bytes of each step, to which copies add what they hold for longer. In a deep network a copy may be moved
// over thousands of steps, so whole blocks of steps are compared and raised at once.
class Reservations {
 public:
  void assign(std::span<const int64_t> live);
  // Adds `bytes` to the steps from `begin` on, up to `end` or to the first step that they would raise above `limit`.
  // Returns the first step that they are not added to.
  int32_t add_upward(int32_t begin, int32_t end, int64_t bytes, int64_t limit);
  // The same from `end` down. Returns the lowest step that they are added to, or `end`.
  int32_t add_downward(int32_t begin, int32_t end, int64_t bytes, int64_t limit);

 private:
  static constexpr int32_t kBlock = 64;
  bool add_to_step(int32_t step, int64_t bytes, int64_t limit);
  bool add_to_block(int32_t block, int64_t bytes, int64_t limit);

  std::vector<int64_t> live_;      // without what was added to whole blocks
  std::vector<int64_t> of_block_;  // added to each step of the block
  std::vector<int64_t> most_;      // largest of each block
};

// Reusable for one model.
class CopyMover {
 public:
  explicit CopyMover(const Model& model) : model_(model) {}

  // The trace with offloads later, and prefetches and later loads earlier, as far as live bytes stay within `limit`.
  // The order of tasks is unchanged. The result is valid until the next call; it may be swapped away.
  Trace& move(const Trace& trace, const TraceFacts& facts, int64_t limit);

 private:
  struct Copy {
    Op op;
    int32_t position;  // inserted before this step of the trace
  };

  void find_returns(const Trace& trace);
  void find_compute_times(const Trace& trace, std::span<const double> seconds);
  void delay_offloads(const Trace& trace, const TraceFacts& facts, int64_t limit);
  void hasten_fetches(const Trace& trace, const TraceFacts& facts, int64_t limit);
  void merge(const Trace& trace);
  double seconds(const Op& op, double rate) const {
    return model_.links.latency_seconds + static_cast<double>(model_.tensors[at(op.id)].copy_bytes) / rate;
  }

  const Model& model_;
  Reservations live_;
  std::vector<double> begins_;        // start of each task if no task waited for a copy; never falls
  std::vector<int32_t> returns_at_;   // of each offload: the next prefetch of its tensor, or the end
  std::vector<int32_t> next_fetch_;   // of each tensor
  std::vector<int32_t> released_at_;  // of each tensor: position of its last offload
  std::vector<int32_t> earliest_;  // of each fetch: position of the offload before it
  std::vector<Copy> offloads_, fetches_;
  int32_t first_task_ = 0;
  Trace moved_;
};

}  // namespace plimsoll::schedule
