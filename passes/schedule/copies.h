// Decides at which position among the tasks copies are issued. The bytes of an offloaded tensor may be reused from the
// position of the offload on, and those of a prefetched one are reserved from the position of the prefetch on. So
// positions determine both live bytes and overlap.
//
//   compute   | conv1 | relu1 | conv2 | relu2 |  …   a  as lowered: the bytes may be reused at once, but the task that
//   offload a         |xxxxxxxxxxxxxxx|                 reuses them waits for the copy
//                     ^ position                     b  as moved: the bytes are held until the copy should be complete,
//   offload b         |xxxxxxxxxxxxxxx|                 if there is room for that, so no task waits
//                                     ^ position
//
// Prefetches mirror this: the latest position that still completes in time, if there is room from there on.
#pragma once

#include "passes/schedule/levels.h"
#include "passes/schedule/model.h"

namespace plimsoll::schedule {

// Facts about the steps of a trace, from an evaluation (evaluate.h).
struct TraceFacts {
  std::span<const int64_t> live;      // bytes
  std::span<const double> begins;     // of each step, if no task waited for a copy; last, the end of all. Never falls
  std::span<const int32_t> made_at;   // of each offload: the step that wrote or updated its tensor
  std::span<const int32_t> left_at;   // of each fetch: the last access to its tensor before it, or -1
};

// Reusable for one model.
class CopyMover {
 public:
  explicit CopyMover(const Model& model) : model_(model) {}

  // Moves offloads later, and prefetches and repeated loads earlier, as far as live bytes stay within `limit`. The
  // order of tasks is unchanged. The result is valid until the next call; it may be swapped away.
  Trace& move(const Trace& trace, const TraceFacts& facts, int64_t limit);

 private:
  void find_returns(const Trace& trace);
  void delay_offloads(const Trace& trace, const TraceFacts& facts, int64_t limit);
  void hasten_fetches(const Trace& trace, const TraceFacts& facts, int64_t limit);
  double seconds(const Op& op, double rate) const { return model_.copy_seconds(model_.tensor(op.id), rate); }

  const Model& model_;
  Levels live_;                       // bytes of each step, with what copies hold for longer
  std::vector<int32_t> returns_at_;   // of each offload: the next prefetch of its tensor, or the end
  std::vector<int32_t> next_fetch_;   // of each tensor
  std::vector<int32_t> released_at_;  // of each tensor: position of its last offload
  std::vector<int32_t> earliest_;  // of each fetch: position of the offload before it
  std::vector<Insertion> offloads_, fetches_;
  int32_t first_task_ = 0;
  Trace moved_;
};

}  // namespace plimsoll::schedule
