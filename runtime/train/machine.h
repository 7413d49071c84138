// Runs iterations of a program: owns its kernels, its arena and its host pool.
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

// What to do with the last samples of an epoch, if they are no whole batch.
enum class LastBatch {
  drop,  // leave them out; the next epoch has another order
  pad,   // fill the batch with copies that the loss ignores (batch normalization sees them)
  keep,  // a smaller batch; its last round may need a kernel set of its own
};

class Machine {
 public:
  struct Setup {
    std::string spill = {};  // directory of the host pool's file; "": the pool is in memory
    bool may_record = true;  // RoundJob::may_record
    bool overlap = true;     // false: each step runs when its line of the program is called
    const Program* compiled = nullptr;  // the program before run_batch.h changed its batch; null: it is unchanged
    int64_t left_over = 0;   // samples of a smaller last batch, of all ranks together; 0: there is none
    bool revalidate = false;  // throw if any kernel is not as planned
    const UpdateGroups* groups = nullptr;  // must outlive the machine; null: all numbers as compiled
    bool only_output = false;  // run only up to the model's output: for output_of()
  };

  // Allocates all memory that training needs. Throws what the backend and its kernels throw.
  Machine(const Program& program, Team& team, const Setup& setup);

  struct Totals {
    double loss = 0;     // mean over the iteration's samples, or over the labels that count
    double correct = 0;  // number of correct labels
    int64_t labels = 0;  // number of labels that count
    double weight = 0;   // sum of their weights: the divisor of the loss
    double fetch_seconds = 0;  // waiting for samples
    double stall_seconds = 0, reduce_seconds = 0;
    int64_t moved_bytes = 0;
    bool overflowed = false;  // a gradient was not finite, so the updates were skipped
    bool finite = true;
    // If not finite, and guarded: the first bad tensor, and whether it is a weight or optimizer state.
    std::string bad = {};
    bool weights_are_bad = false;
    std::string_view not_recorded = {};  // why a round could not be recorded; "": all were, or none should be
  };

  struct Iteration {
    Samples samples = {};  // positions of the feeder's order: a batch of all ranks together, or a smaller last one
    bool padded = false;   // fill the rest of the batch with copies
    Samples next = {};     // of the next iteration
    RunContext context = {};
    StepTimes* times = nullptr;  // filled in for the last round
    bool guarded = false;  // if the loss or samples are not finite, leave the weights unchanged and find the bad tensor
  };

  // Runs all rounds of one iteration. Evaluation (context.training false) runs the forward pass only.
  Totals play(Feeder& feeder, const Iteration& iteration);

  // The model's output for these samples (at most one sub-batch), in plain order, with running statistics and without
  // dropout. Valid until the next call. Before: only_output.
  std::span<const float> output_of(Feeder& feeder, const Samples& now, const Samples& next);

  // To be called before the ranks disconnect, if there are several.
  void forget_recordings() { streams_->forget_recordings(); }

  const backend::Arena& arena() const { return arena_; }
  const backend::HostPool* pool() const { return pool_.get(); }  // null: the program has none
  const Round& round() const { return round_; }
  // The kernels that are not as planned.
  std::vector<KernelSet::Replaced> replaced_kernels() const;
  // For the kernels of a full round.
  const KernelSet::AsPlanned& as_planned() const { return full_.as_planned(); }

 private:
  void build(KernelSet& set, int64_t samples, const Setup& setup) const;
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
  const int64_t kernel_batch_;  // that the loss kernels divide by
  Round round_;
  std::unique_ptr<backend::Streams> streams_;
  std::array<int64_t, 2> copied_bytes_{};  // by offloads and prefetches of a round; of the last round
  int64_t zeroed_bytes_ = 0;         // of these, bytes that the first round sets to zero instead
  int64_t loaded_sample_bytes_ = 0;  // of one sample
  int64_t loaded_whole_bytes_ = 0;   // of inputs that are the same for all samples, in every round
  std::vector<float> laid_out_, plain_;  // of the output
};

}  // namespace plimsoll::train
