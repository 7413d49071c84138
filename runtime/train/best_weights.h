// The best evaluation of a run: it decides when --early-stop ends the run, and whose weights --keep-best saves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/train/checkpoint.h"
#include "runtime/train/error.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/options.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

class BestWeights {
 public:
  // `best` is part of the run's progress, which checkpoints store.
  BestWeights(const Options& options, Best& best, Reporter& reporter)
      : options_(options), best_(best), reporter_(reporter) {}

  // Before: `best` is that of the checkpoint, if the run resumes from one.
  void begin() { at_start_ = best_.iteration; }

  // Compares an evaluation after `iteration` iterations with the best. True if it is better: then it is the best. Every
  // rank has the same result, and so takes the same decision.
  bool improves(const Evaluation& result, int64_t iteration);

  // --early-stop N: the last N evaluations did not improve.
  bool stops_early() const { return options_.early_stop > 0 && best_.since >= options_.early_stop; }

  // The run has --keep-best, and there was an evaluation.
  bool kept() const { return options_.best != Metric::none && best_.iteration > 0; }

  // No evaluation was better than the one in the checkpoint that the run resumed from.
  bool is_of_earlier_run() const { return kept() && at_start_ == best_.iteration; }

  // Calls `save`. If the file cannot be written, warns: training goes on, and the next best is tried again.
  void save_while_training(const std::function<void()>& save);
  // Calls `save`. For the end of the run: no warning, because error() then fails the run.
  void save_at_end(const std::function<void()>& save);
  // Why the best weights are not saved, if they are not.
  const std::optional<TrainerError>& error() const { return error_; }

  // Before: kept(). `checkpoint`: the path of the checkpoint with the weights, or empty.
  void tell(const std::string& checkpoint) const;

 private:
  const Options& options_;
  Best& best_;
  Reporter& reporter_;
  int64_t at_start_ = 0;  // best_.iteration
  std::optional<TrainerError> error_ = {};
};

}  // namespace plimsoll::train
