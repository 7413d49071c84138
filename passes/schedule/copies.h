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

#include "passes/schedule/levels.h"
#include "passes/schedule/model.h"

namespace plimsoll::schedule {

// Facts about the steps of a trace, as evaluate.h finds them.
struct TraceFacts {
  std::span<const int64_t> live;      // bytes
  std::span<const double> begins;     // of each step, if no task waited for a copy; then the end of all. Never falls
  std::span<const int32_t> made_at;   // of each offload: the step that wrote or updated its tensor
  std::span<const int32_t> left_at;   // of each fetch: the last access to its tensor before it, or -1
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
  void delay_offloads(const Trace& trace, const TraceFacts& facts, int64_t limit);
  void hasten_fetches(const Trace& trace, const TraceFacts& facts, int64_t limit);
  void merge(const Trace& trace);
  double seconds(const Op& op, double rate) const { return model_.copy_seconds(model_.tensors[at(op.id)], rate); }

  const Model& model_;
  Levels live_;                       // bytes of each step, with what copies hold for longer
  std::vector<int32_t> returns_at_;   // of each offload: the next prefetch of its tensor, or the end
  std::vector<int32_t> next_fetch_;   // of each tensor
  std::vector<int32_t> released_at_;  // of each tensor: position of its last offload
  std::vector<int32_t> earliest_;  // of each fetch: position of the offload before it
  std::vector<Copy> offloads_, fetches_;
  int32_t first_task_ = 0;
  Trace moved_;
};

}  // namespace plimsoll::schedule
