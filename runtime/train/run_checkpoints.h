// The checkpoints of a run: where it goes on from, and what becomes of it when one cannot be written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/train/checkpoint.h"
#include "runtime/train/error.h"
#include "runtime/train/options.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

class RunCheckpoints {
 public:
  RunCheckpoints(const Options& options, Reporter& reporter) : options_(options), reporter_(reporter) {}

  // Takes the directory of --checkpoint. With --resume, `progress` and the arena are as in the newest checkpoint there,
  // if there is one. Before: `progress` says which run it would be. Throws TrainerError: usage, where there are
  // checkpoints and none was asked for, or where they are of a run with other samples or another order; and what
  // Checkpoints throws.
  // `average`: of --ema, or null. It continues from the checkpoint, or starts at the weights that the run starts with.
  void begin(const Program& program, ParameterPort& port, dist::Pulse* pulse, Progress& progress, WeightAverage* average);

  // False: none are kept.
  explicit operator bool() const { return checkpoints_.has_value(); }
  std::string path_of(int64_t iteration) const { return checkpoints_->path_of(iteration); }

  // Before: some are kept. What cannot be written is told, with `what_now` behind it (--checkpoint-optional), or ends
  // the run.
  void save(const Progress& progress, const char* what_now);

  // Why the run ends: a checkpoint could not be written, and none may be missing.
  const std::optional<TrainerError>& failure() const { return failure_; }

  bool last_is_missing() const { return last_is_missing_; }
  // What rank 0 could not write, all ranks tell.
  void share_last_is_missing(bool missing) { last_is_missing_ = missing; }
  // At the end: a warning of those that are missing.
  void warn_of_missing() const;

 private:
  void check_same_run(const Progress& stored, const Progress& now) const;
  void resume_average(const Progress& stored, double decay);

  const Options& options_;
  Reporter& reporter_;
  std::optional<Checkpoints> checkpoints_ = {};
  WeightAverage* average_ = nullptr;
  int64_t missing_ = 0;
  bool last_is_missing_ = false;
  std::optional<TrainerError> failure_ = {};
};

}  // namespace plimsoll::train
