// Evaluates a trace: the live bytes of each step, the algorithms that fit, and when every step runs. Bytes and
// algorithms are those of the passes liveness and conv_algorithm, but without a plan, thousands of times per second.
// Seconds are an upper bound on those of the pass simulate.
//
// They are an upper bound because addresses are unknown here, so the simulation waits for more than the plan does. A
// task waits for every earlier copy off the device. A copy onto the device waits for every earlier task and every
// earlier copy off the device. A copy off the device waits for every earlier prefetch, whose slot it may take. With
// several ranks, steps issued after the last reduction wait for it, and so does every access to a sum; otherwise
// reductions overlap with everything.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/streams.h"
#include "passes/analysis/rounds.h"
#include "passes/analysis/timeline.h"
#include "passes/schedule/copies.h"

namespace plimsoll::schedule {

struct Outcome {
  double seconds = 0;      // of an iteration
  // The part of `seconds` for tasks, and with several ranks for waits for sums. A lower bound for every plan with these
  // steps.
  double busy_seconds = 0;
  int64_t peak_bytes = 0;  // live tensors and workspaces, persistent ones included
  int64_t excess = 0;      // bytes above the limit, summed over all steps
  int32_t peak_op = 0;
  bool fits(int64_t limit) const { return peak_bytes <= limit; }
  bool possible() const { return peak_bytes < kNoLimit; }
};

// One residency of a tensor: steps `first` to `last` of the trace, inclusive.
struct Life {
  int32_t tensor = 0;
  int32_t first = 0, last = 0;
};

// With several ranks, one workspace serves all reductions. Adds its bytes under this limit to those of each step
// between the first reduction and the last.
void add_reduction_workspace(const Model& model, const Trace& trace, int64_t limit, std::vector<int64_t>& bytes);

// Bytes that a schedule leaves free, because fragmentation takes some: `most` at each task, or less where more than
// `all - most` are taken. They count as live. So that no algorithm in the plan is faster than in the evaluation, the
// plan chooses algorithms within the limit less `most`.
//
//   all   --------- ___ ----------         taken at a task: nothing is free
//              most|   |  _
//          ________|   |_| |_______        live at most, elsewhere
struct Spare {
  int64_t most = 0, all = 0;
  // Bytes that are taken at each task. Null: those of the task's own tensors.
  std::shared_ptr<const std::vector<int64_t>> taken = nullptr;
  friend bool operator==(const Spare&, const Spare&) = default;
};

class Evaluator {
 public:
  explicit Evaluator(const Model& model, const Spare& spare = {});

  // Chooses the fastest algorithms whose workspace fits under `limit`, or the smallest workspace if none fits.
  Outcome evaluate(const Trace& trace, int64_t limit);
  // The same in two parts. measure() leaves out seconds and spans(): a trace that exceeds a limit, for example, needs
  // none. Before add_seconds(): `outcome` is the result of measure() for this trace, with no other evaluation in
  // between.
  Outcome measure(const Trace& trace, int64_t limit);
  void add_seconds(const Trace& trace, Outcome& outcome);

  // Moves the copies of a lowered trace (copies.h), unless it then exceeds the limit, and evaluates the result. The
  // order of tasks is unchanged. With where_it_fits, only a trace that keeps the limit is simulated.
  enum class Seconds { always, where_it_fits };
  Outcome time_copies(Trace& trace, int64_t limit, Seconds wanted = Seconds::always);

  // Of the last trace evaluated; includes persistent tensors and workspaces.
  const std::vector<int64_t>& live() const { return live_; }
  const std::vector<TimeSpan>& spans() const { return spans_; }  // of each step, in the first round
  const std::vector<Life>& lives() const { return lives_; }
  const Algorithm& algorithm_of(size_t step) const { return *chosen_[step]; }  // of a task's step
  // Seconds of an iteration if steps waited for their data only: a lower bound for every plan with these steps and
  // algorithms. Before: `trace` was evaluated last. Overwrites spans().
  double least_seconds(const Trace& trace);

 private:
  void find_lives(const Trace& trace);
  void count_bytes(const Trace& trace);
  void choose_algorithms(const Trace& trace, int64_t limit, Outcome& outcome);
  CopySeconds seconds_of_copy(const Trace& trace, size_t step, double share, Round round) const;
  enum class Waits { for_data, for_addresses_too };
  template <Waits kWaits>
  double simulate_round(const Trace& trace, Round round);
  template <class Body>
  void for_each_round(Body body) const;

  const Model& model_;
  std::vector<int64_t> spare_;  // of each task; empty: none
  struct Current {
    int32_t life = -1;       // the current one
    int32_t copied_at = -1;  // the copy that it began with; -1: a task wrote it
  };
  std::vector<Current> current_;  // of each tensor
  std::vector<Life> lives_;
  struct Pair {
    int32_t read, written, at;  // indices into lives_
  };
  std::vector<Pair> pairs_;
  int64_t host_resident_bytes_ = 0;  // bytes of persistent tensors whose residence is the host pool
  std::vector<uint8_t> followed_, follows_;
  std::vector<int64_t> live_;
  std::vector<const Algorithm*> chosen_;  // of each compute step
  std::vector<int32_t> came_from_;  // of each compute step: the last copy that brought one of its operands, or -1
  std::vector<int32_t> made_at_;    // of each offload: the step that wrote its tensor, or updated it if persistent
  RoundsOfCopies rounds_;
  std::vector<int32_t> left_at_;    // of each fetch: the last step that accessed its tensor before
  std::vector<double> begins_;      // of each step (TraceFacts)
  CopyMover mover_;
  std::vector<TimeSpan> spans_;
  std::vector<double> parked_;                  // of each tensor: the end of its last offload
  std::vector<double> reduced_, busy_reduced_;  // of each reduction: its end; and its end if steps waited only for sums
  double busy_ = 0;  // of the round simulated last
};

}  // namespace plimsoll::schedule
