// The checkpoints of a run: resuming, saving, and the policy for failed saves.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "runtime/train/checkpoint.h"
#include "runtime/train/error.h"
#include "runtime/train/options.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

// The progress of a run at its start. `rates`: Progress::schedule.
Progress progress_at_start(const Options& options, const Dataset& training, int64_t per_epoch, std::string rates);

class RunCheckpoints {
 public:
  RunCheckpoints(const Options& options, Reporter& reporter) : options_(options), reporter_(reporter) {}

  // Opens the directory of --checkpoint. With --resume, loads `progress` and the arena from the newest checkpoint, if
  // there is one. Before: `progress` describes this run. `average`: of --ema, or null; it resumes from the checkpoint,
  // or starts at the initial weights. Throws TrainerError (usage) if there are checkpoints and --resume is missing, or
  // if they are of a run with other samples or another order; and what Checkpoints throws.
  void begin(const Program& program, ParameterPort& port, dist::Pulse* pulse, Progress& progress,
             WeightAverage* average);

  // False: the run keeps no checkpoints.
  explicit operator bool() const { return checkpoints_.has_value(); }
  std::string path_of(int64_t iteration) const { return checkpoints_->path_of(iteration); }

  // Loads what the best evaluation used into the arena (checkpoint.h). Before: the run keeps checkpoints, and finish()
  // has been called.
  void load_evaluated(int64_t iteration) { checkpoints_->load_evaluated(iteration); }

  // Before: the run keeps checkpoints. Training waits until the tensors are written; a thread does the rest
  // (checkpoint.h). A failed save ends the run or, with --checkpoint-optional, gives a warning that ends with
  // `what_now`; if the thread fails, when poll(), finish() or the next save() finds out.
  void save(const Progress& progress, const char* what_now);
  // Whether the thread has failed, if it has ended. Does not wait.
  void poll(const char* what_now);
  // Waits for the thread.
  void finish(const char* what_now);

  // Set if a required checkpoint could not be written, which ends the run.
  const std::optional<TrainerError>& failure() const { return failure_; }

  bool last_is_missing() const { return last_is_missing_; }
  // Tells all ranks whether rank 0 could not write the last one.
  void share_last_is_missing(bool missing) { last_is_missing_ = missing; }
  // At the end of the run: warns if checkpoints are missing.
  void warn_of_missing() const;

 private:
  void check_same_run(const Progress& stored, const Progress& now) const;
  void resume_best(Best& best) const;
  void resume_average(const Progress& stored, double decay);
  void attempt(int64_t iteration, const char* what_now, const std::function<void()>& work);

  const Options& options_;
  Reporter& reporter_;
  std::optional<Checkpoints> checkpoints_ = {};
  std::future<void> settling_ = {};  // after checkpoints_, because its destructor waits for the thread
  int64_t settling_iteration_ = 0;
  WeightAverage* average_ = nullptr;
  int64_t missing_ = 0;
  bool last_is_missing_ = false;
  std::optional<TrainerError> failure_ = {};
};

}  // namespace plimsoll::train
