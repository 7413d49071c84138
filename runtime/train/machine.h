// A program with its kernels and its memory: plays iterations.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.h"
#include "runtime/streams.h"
#include "runtime/train/feeder.h"
#include "runtime/train/groups.h"
#include "runtime/train/team.h"

namespace plimsoll::train {

// What becomes of the samples that are left when an epoch has no whole batch any more.
enum class LastBatch {
  drop,  // they wait for the next epoch's order
  pad,   // a whole batch, filled up with copies that the loss does not count (but batch normalization sees them)
  keep,  // as many rounds as they take; a kernel set of its own for what is less than a round
};

class Machine {
 public:
  struct Setup {
    std::string spill = {};  // directory of the host pool's file; "": in memory
    bool may_record = true;  // RoundJob::may_record
    bool overlap = true;     // false: each step is done when its line of the program is called
    int64_t kernel_batch = 0;  // that kernels divide a loss by; 0: the program's
    int64_t left_over = 0;   // samples of a short iteration; 0: there is none. Of all ranks
    bool revalidate = false;  // every kernel is as planned, or none is run
    const UpdateGroups* groups = nullptr;  // null: every update's numbers are as compiled. Lives as long as the machine
    bool only_output = false;  // plays as far as the model's output only: for output_of()
  };

  // Takes all the memory that training takes. Throws what the backend and its kernels throw.
  Machine(const Program& program, Team& team, const Setup& setup);

  struct Totals {
    double loss = 0;     // of an iteration: the mean over its samples, or over those of their labels that are counted
    double correct = 0;  // labels
    int64_t labels = 0;  // that are counted
    double weight = 0;   // what they count for: the divisor of the loss
    double fetch_seconds = 0;  // waiting for samples
    double stall_seconds = 0, reduce_seconds = 0;
    int64_t moved_bytes = 0;
    bool finite = true;
    // If not, and if it was guarded: which tensor was the first, and whether it is a weight or of the optimizer's state.
    std::string bad = {};
    bool weights_are_bad = false;
    std::string_view not_recorded = {};  // of one of its rounds
  };

  struct Iteration {
    Samples samples = {};  // of the feeder's order, a batch or what is left over; of all ranks, each plays its part
    bool padded = false;   // the rest of the batch is filled up
    Samples next = {};     // those of the iteration behind it
    RunContext context = {};
    StepTimes* times = nullptr;  // of its last round
    bool guarded = false;  // where loss or samples are no finite numbers, no weight is moved, and the tensor is looked for
  };

  // All rounds of one iteration. Evaluation (context.training false) runs forward only.
  Totals play(Feeder& feeder, const Iteration& iteration);

  // The model's output for these samples, at most a sub-batch, in plain order; until the next call. With running statistics
  // and without dropout. Before: only_output.
  std::span<const float> output_of(Feeder& feeder, const Samples& now, const Samples& next);

  // Before the ranks leave each other, if there are several.
  void forget_recordings() { streams_->forget_recordings(); }

  const backend::Arena& arena() const { return arena_; }
  const backend::HostPool* pool() const { return pool_.get(); }  // null: the program has none
  const Round& round() const { return round_; }
  // Of all its kernels, those that are not what was planned.
  std::vector<KernelSet::Replaced> replaced_kernels() const;
  // Of those of a full round.
  const KernelSet::AsPlanned& as_planned() const { return full_.as_planned(); }

 private:
  void check_refused() const;
  const KernelSet& kernels_for(int64_t samples) const;

  Samples share(const Samples& of_all, int64_t round) const;

  const Program& program_;
  Team& team_;
  backend::Arena arena_;
  std::unique_ptr<backend::HostPool> pool_;
  KernelSet full_, last_, rest_;
  int64_t rest_samples_ = 0;
  const bool may_record_;
  const int64_t kernel_batch_;
  Round round_;
  std::unique_ptr<backend::Streams> streams_;
  std::array<int64_t, 2> copied_bytes_{};  // by offloads and prefetches of a round; of the last one
  int64_t zeroed_bytes_ = 0;         // of these, not in the first
  int64_t loaded_sample_bytes_ = 0;  // of one sample
  int64_t loaded_whole_bytes_ = 0;   // in every round
  std::vector<float> laid_out_, plain_;  // of the output
};

}  // namespace plimsoll::train
