// When copies are issued. A copy takes device memory from the moment its bytes are set aside until they are given up, so
// where it stands among the tasks decides both memory and what it overlaps with.
//
//   compute   | conv1 | relu1 | conv2 | relu2 |  …      a  as woven: whoever takes the bytes of x waits for the copy
//   offload a         |xxxxxxxxxxxxxxx|                 b  as timed: bytes are given up when the copy will have finished,
//                     ^ issued, bytes wanted back          if there is room until then
//   offload b         |xxxxxxxxxxxxxxx^
//
// The same mirrored for prefetches: the latest start that has them in time, or as early as there is room.
#pragma once

#include "passes/schedule/evaluate.h"

namespace plimsoll::schedule {

// For a model and its evaluator, again and again.
class CopyTimer {
 public:
  CopyTimer(const Model& model, Evaluator& evaluator) : model_(model), evaluator_(evaluator) {}

  enum class Seconds { always, where_it_fits };

  // Moves offloads later and prefetches and later loads earlier, as far as live bytes stay within `limit`. The order of
  // tasks stays. Leaves the evaluator with the outcome of the result, simulated where its seconds are wanted.
  Outcome time(Trace& trace, int64_t limit, Seconds wanted = Seconds::always);

 private:
  struct Copy {
    Op op;
    int32_t position;  // stands before this step of the woven trace
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
  std::vector<double> begins_;     // when each task would run if nobody waited
  std::vector<int32_t> given_up_;  // of each tensor: where its last offload stands
  std::vector<int32_t> earliest_;  // of each fetch: where the offload before it stands
  std::vector<Copy> offloads_, fetches_;
  int32_t first_task_ = 0;
  Trace timed_;
};

// The same, once.
Outcome time_copies(const Model& model, Evaluator& evaluator, Trace& trace, int64_t limit);

}  // namespace plimsoll::schedule
