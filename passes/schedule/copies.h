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

#include "passes/schedule/evaluate.h"

namespace plimsoll::schedule {

// Reusable for one model and its evaluator.
class CopyTimer {
 public:
  CopyTimer(const Model& model, Evaluator& evaluator) : model_(model), evaluator_(evaluator) {}

  enum class Seconds { always, where_it_fits };

  // Moves offloads later, and prefetches and later loads earlier, as far as live bytes stay within `limit`. The order
  // of tasks is unchanged. The evaluator then holds the outcome of the resulting trace, simulated if its seconds are
  // wanted.
  Outcome time(Trace& trace, int64_t limit, Seconds wanted = Seconds::always);

 private:
  struct Copy {
    Op op;
    int32_t position;  // inserted before this step of the lowered trace
  };

  void find_compute_times(const Trace& trace);
  void delay_offloads(const Trace& trace, int64_t limit);
  void hasten_fetches(const Trace& trace, int64_t limit);
  void merge(const Trace& trace);
  double seconds(const Op& op, double rate) const {
    return model_.links.latency_seconds + static_cast<double>(model_.tensors[at(op.id)].copy_bytes) / rate;
  }

  const Model& model_;
  Evaluator& evaluator_;
  std::vector<int64_t> live_;
  std::vector<double> begins_;     // start of each task if no task waited for a copy
  std::vector<int32_t> released_at_;  // of each tensor: position of its last offload
  std::vector<int32_t> earliest_;  // of each fetch: position of the offload before it
  std::vector<Copy> offloads_, fetches_;
  int32_t first_task_ = 0;
  Trace timed_;
};

// The same, for a single use.
Outcome time_copies(const Model& model, Evaluator& evaluator, Trace& trace, int64_t limit);

}  // namespace plimsoll::schedule
