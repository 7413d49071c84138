// What a trace costs: the live bytes of each step, the algorithms that fit beside them, and when everything runs. The
// same answers as the passes liveness, conv_algorithm and simulate give, without a plan, thousands of times a second.
// Addresses are unknown here, so a step waits for more than it will have to: a task for every copy off the device that
// was issued before it, a copy onto it for every task and copy issued before, a copy off it for every prefetch (whose slot
// it may take). The plan is never slower than this says. Of several ranks, reductions run beside all that: whatever is issued
// behind the last of them waits for it, and so does whoever touches a sum. One workspace serves all, from the first to the last.
#pragma once

#include <vector>

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

struct Outcome {
  double seconds = 0;      // of an iteration
  // Of these, computing, and of several ranks waiting for sums: without all other waits no plan with these steps takes less.
  double busy_seconds = 0;
  int64_t peak_bytes = 0;  // live tensors and workspaces, persistent ones included
  int64_t excess = 0;      // bytes above the limit, summed over the steps
  int32_t peak_op = 0;
  bool fits(int64_t limit) const { return peak_bytes <= limit; }
  bool possible() const { return peak_bytes < kNoLimit; }
};

// One residency of a tensor: the trace from `first` to `last`, inclusive.
struct Life {
  int32_t tensor = 0;
  int32_t first = 0, last = 0;
};

class Evaluator {
 public:
  explicit Evaluator(const Model& model);

  // Algorithms are the fastest whose workspace fits under `limit`; where none does, the one with the smallest.
  Outcome evaluate(const Trace& trace, int64_t limit);
  // The same without the seconds, start() and end(): what that takes longer is for schedules that keep a limit.
  Outcome measure(const Trace& trace, int64_t limit);
  // Before: `outcome` is what measure() has just said of the trace.
  void simulate(const Trace& trace, Outcome& outcome);

  // Of the last trace that was evaluated; persistent tensors and workspaces are counted.
  const std::vector<int64_t>& live() const { return live_; }
  const std::vector<double>& start() const { return start_; }  // of each step, in the first round
  const std::vector<double>& end() const { return end_; }
  const std::vector<Life>& lives() const { return lives_; }
  int32_t made_at(int32_t step) const { return made_at_[static_cast<size_t>(step)]; }  // of an offload: the step that made, or updated, its tensor
  int32_t left_at(int32_t step) const { return left_at_[static_cast<size_t>(step)]; }  // of a fetch: its tensor's last touch before, or -1
  double seconds_of(const Trace& trace, int32_t at) const;     // of that step, in the first round
  // Of the last trace that was evaluated: an iteration if steps waited for their data alone. No plan with these steps and
  // algorithms takes less.
  double least_seconds(const Trace& trace) const;
  int64_t workspace_of(const Trace& trace, int32_t at) const;  // of that step, as chosen

 private:
  void find_lives(const Trace& trace);
  void count_bytes(const Trace& trace);
  void count_reductions(const Trace& trace, int64_t limit);
  void choose_algorithms(const Trace& trace, int64_t limit, Outcome& outcome);
  struct Copied {
    double bytes = 0, latency = 0;
  };
  // One round; of an iteration with several, it may be the first or the last. `only`: it is both, and has all steps.
  enum class Which { only, first, middle, last };
  Copied copied_by(const Trace& trace, size_t step, double share, Which which) const;
  double simulate_round(const Trace& trace, Which which);
  double simulate_freely(const Trace& trace, Which which) const;
  template <class Body>
  void for_each_round(Body body) const;

  const Model& model_;
  struct Current {
    int32_t life = -1;       // so far
    int32_t copied_at = -1;  // the copy that it began with; -1: it was made
  };
  std::vector<Current> current_;  // of each tensor
  std::vector<Life> lives_;
  struct Pair {
    int32_t read, written, at;  // lives
  };
  std::vector<Pair> pairs_;
  int64_t at_home_on_host_ = 0;  // bytes of persistent tensors that the trace fetches
  std::vector<uint8_t> followed_, follows_;
  std::vector<int64_t> live_;
  std::vector<int32_t> chosen_;     // index into model.algorithms, of each compute step
  std::vector<int32_t> came_from_;  // of each compute step: the last copy that brought one of its operands, or -1
  std::vector<int32_t> made_at_;    // of each offload: the step that made (of what lives through the run: updated) its tensor
  std::vector<CopyRounds> rounds_;  // of each step
  bool begins_with_zeros_ = false;  // the first round fetches less than others do
  std::vector<int32_t> stored_;     // of each tensor that lives through the run: its last copy home so far, or -1
  std::vector<int32_t> left_at_;    // of each fetch: the step that touched its tensor last before it
  std::vector<double> start_, end_;
  std::vector<double> reduced_, busy_reduced_;  // of each reduction: when it ends; and if nothing but sums were waited for
  double busy_ = 0;  // of the round simulated last
};

}  // namespace plimsoll::schedule
