#include "runtime/train/run_checkpoints.h"

#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/train/counted.h"

namespace plimsoll::train {

Progress progress_at_start(const Options& options, const Dataset& training, int64_t per_epoch, std::string rates) {
  const LastBatch last = options.last_batch;
  return {.seed = options.seed.value_or(0),
          .shuffle = options.shuffle,
          .data = training.name,
          .samples = training.samples,
          .per_epoch = per_epoch,
          .last_batch = last == LastBatch::drop ? "drop" : last == LastBatch::pad ? "pad" : "keep",
          .schedule = std::move(rates),
          .average_decay = options.average_decay.value_or(0)};
}

void RunCheckpoints::begin(const Program& program, ParameterPort& port, dist::Pulse* pulse, Progress& progress,
                           WeightAverage* average) {
  average_ = average;
  if (average_) average_->start();
  if (options_.checkpoint.empty()) return;
  checkpoints_.emplace(options_.checkpoint, options_.keep, program, port, pulse);
  if (options_.resume == Resume::no) {
    if (const std::vector<int64_t> there = checkpoints_->found(); !there.empty())
      throw TrainerError(Exit::usage, "there are checkpoints already, " + checkpoints_->path_of(there.front()) +
                                          " is the newest: --resume continues from it, or name another directory");
    return;
  }
  std::vector<std::string> passed_over;
  const std::optional<Progress> stored = checkpoints_->resume(passed_over, options_.resume == Resume::newest);
  for (const std::string& line : passed_over) reporter_.warn("warning: passed over " + line);
  if (!stored) return reporter_.say("no checkpoint in " + options_.checkpoint + ": starting at the beginning");
  check_same_run(*stored, progress);
  const std::string schedule = progress.schedule;
  const double decay = progress.average_decay;
  const LossScaling begins = progress.scaling;
  progress = *stored;
  progress.schedule = schedule;
  progress.average_decay = decay;
  // Of a run in another precision, the optimizer's count of steps remains: without those that were skipped.
  if ((begins.scale > 0) != (stored->scaling.scale > 0)) {
    progress.scaling = begins;
    progress.scaling.skipped = stored->scaling.skipped;
  }
  resume_best(progress.best);
  resume_average(*stored, decay);
  reporter_.say("resumed from " + checkpoints_->path_of(stored->iteration));
}

// Evaluations are compared only by the same metric. The best weights are saved from their checkpoint if no later
// evaluation is better, so it must be there.
void RunCheckpoints::resume_best(Best& best) const {
  if (best.iteration == 0 || (options_.best == Metric::none && options_.early_stop == 0)) return;
  const std::string earlier = ": the evaluations before the checkpoint do not count";
  const bool by_accuracy = options_.best == Metric::accuracy;
  if (best.by_accuracy != by_accuracy) {
    reporter_.warn("warning: the checkpoint has the best evaluation by " +
                   std::string(best.by_accuracy ? "accuracy" : "loss") + ", this run compares by " +
                   (by_accuracy ? "accuracy" : "loss") + earlier);
  } else if (options_.best != Metric::none && !checkpoints_->has(best.iteration)) {
    reporter_.warn("warning: the weights of the best evaluation are lost, because there is no " +
                   checkpoints_->path_of(best.iteration) + earlier);
  } else {
    return;
  }
  best = {};
}

void RunCheckpoints::resume_average(const Progress& stored, double decay) {
  if (!average_) {
    if (stored.average_decay > 0)
      reporter_.warn("warning: the checkpoint has averaged weights, and this run has no --ema: the average is dropped");
    return;
  }
  average_->start();
  if (stored.average_decay == 0)
    return reporter_.warn(
        "warning: the checkpoint has no averaged weights: the average of --ema starts at its weights");
  checkpoints_->load_average(stored.iteration, *average_);
  if (stored.average_decay != decay) {
    char text[128];
    std::snprintf(text, sizeof text, "warning: the checkpoint is of a run with --ema %g, this one has %g",
                  stored.average_decay, decay);
    reporter_.warn(text);
  }
}

// Throws unless samples and order are the same. Warns if settings such as --lr differ, which change the results.
void RunCheckpoints::check_same_run(const Progress& stored, const Progress& now) const {
  const auto differs = [&](const std::string& what, const std::string& then, const std::string& here) {
    throw TrainerError(Exit::usage, "the checkpoint is of a run with " + what + " " + then + ", this one has " + here);
  };
  if (stored.samples != now.samples)
    differs("data of", counted(stored.samples, "sample"), std::to_string(now.samples));
  if (stored.per_epoch != now.per_epoch)
    differs("epochs of", counted(stored.per_epoch, "iteration"), std::to_string(now.per_epoch));
  if (stored.last_batch != now.last_batch) differs("--last", stored.last_batch, now.last_batch);
  if (stored.shuffle != now.shuffle) differs("samples", stored.shuffle ? "shuffled" : "in order", "the other");
  if (options_.seed && *options_.seed != stored.seed)
    differs("--seed", std::to_string(stored.seed), std::to_string(*options_.seed));
  if (stored.data != now.data)
    reporter_.warn("warning: the checkpoint is of a run on " + stored.data + ", this one is on " + now.data);
  if (stored.schedule != now.schedule)
    reporter_.warn("warning: the checkpoint is of a run with learning rate " + stored.schedule + ", this one has " +
                   now.schedule);
}

void RunCheckpoints::save(const Progress& progress, const char* what_now) {
  if (settling_.valid() && settling_iteration_ == progress.iteration) return;
  finish(what_now);
  if (failure_) return;
  attempt(progress.iteration, what_now, [&] {
    checkpoints_->write(progress, average_);
    settling_iteration_ = progress.iteration;
    settling_ = std::async(std::launch::async, [this] { checkpoints_->settle(); });
  });
}

void RunCheckpoints::poll(const char* what_now) {
  if (settling_.valid() && settling_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) finish(what_now);
}

void RunCheckpoints::finish(const char* what_now) {
  if (settling_.valid()) attempt(settling_iteration_, what_now, [&] { settling_.get(); });
}

void RunCheckpoints::attempt(int64_t iteration, const char* what_now, const std::function<void()>& work) {
  try {
    work();
    last_is_missing_ = false;
  } catch (const TrainerError& error) {
    if (error.code != Exit::unwritable_output) throw;
    last_is_missing_ = true;
    if (!options_.checkpoint_optional) {
      failure_ = error;
      return;
    }
    ++missing_;
    reporter_.warn("warning: checkpoint at iteration " + std::to_string(iteration) + " failed: " + error.what() +
                   what_now);
  }
}

void RunCheckpoints::warn_of_missing() const {
  if (missing_ == 0) return;
  reporter_.warn("warning: " + counted(missing_, "checkpoint") + " could not be written" +
                 (last_is_missing_ ? ", including the last: the end of this run cannot be resumed"
                                   : "; the last one was"));
}

}  // namespace plimsoll::train
