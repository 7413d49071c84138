#include "runtime/train/loop.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/machine/processors.h"
#include "runtime/train/average.h"
#include "runtime/train/best_weights.h"
#include "runtime/train/counted.h"
#include "runtime/train/diagnose.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/feeder.h"
#include "runtime/train/machine.h"
#include "runtime/train/model_notes.h"
#include "runtime/train/parameters.h"
#include "runtime/train/preparation.h"
#include "runtime/train/range_test.h"
#include "runtime/train/rank_rates.h"
#include "runtime/train/reporter.h"
#include "runtime/train/run_checkpoints.h"
#include "runtime/train/run_figures.h"
#include "runtime/train/run_watch.h"
#include "runtime/train/schedule.h"
#include "runtime/train/sharing.h"
#include "runtime/train/signals.h"
#include "runtime/train/summary.h"
#include "runtime/train/team.h"
#include "runtime/train/trace.h"

namespace plimsoll::train {
namespace {

class Loop {
 public:
  Loop(const Program& program, const Program& compiled, const Options& options, const std::string& model_file,
       Data& data, const Length& length, Reporter& reporter, Team& team)
      : program_(program),
        options_(options),
        model_file_(model_file),
        data_(data),
        length_(length),
        reporter_(reporter),
        team_(team),
        groups_(program, options.optimizer, options.schedule.rate),
        watch_(program, options.slack << 20, reporter),
        machine_(program, team,
                 {.spill = options.spill,
                  .may_record = options.graph,
                  .overlap = options.overlap,
                  .compiled = &compiled,
                  .left_over = options.last_batch == LastBatch::keep ? data.training.samples % program.batch : 0,
                  .revalidate = options.revalidate,
                  .groups = &groups_}),
        port_(program, machine_.arena(), machine_.pool()),
        statistics_(program, machine_.arena()),
        schedule_(options.schedule),
        checkpoints_(options, reporter),
        best_(options, progress_.best, reporter) {
    schedule_.iterations = length.iterations;
    if (options.average_decay) average_.emplace(program, port_, *options.average_decay);
    progress_ = progress_at_start(options, data.training, length.per_epoch, describe_rates());
    progress_.scaling = scaling_at_start(program, options.scaling);
    team.together([&] {
      if (!team.speaks()) return;
      init_parameters(program, options.init, model_file, port_);
      checkpoints_.begin(program, port_, team.pulse(), progress_, average_ ? &*average_ : nullptr);
      if (options.on_nan != OnNan::ignore) refuse_bad_parameters(program, port_);
    });
    share_progress(progress_, team);
    best_.begin();
    if (options.range_test) range_test_.emplace(length.iterations);
    share_parameters(program, port_, team);
    if (average_ && team.ranks()) {
      average_->exchange();
      share_parameters(program, port_, team);
      average_->exchange();
    }
    feeder_.emplace(program, data.training, progress_.shuffle, progress_.seed, team.pulse(), options.feeding);
    if (data.evaluation)
      evaluation_feeder_.emplace(program, *data.evaluation, false, 0, team.pulse(),
                                 Feeder::Setup{.workers = options.feeding.workers});
    first_iteration_ = progress_.iteration;
    if (!options.trace.empty()) times_.steps.resize(program.step_names.size());
    reporter.start_at(progress_.iteration, machine_.arena().allocated_bytes());
    if (const std::string replaced = replaced_kernels(machine_.replaced_kernels()); !replaced.empty())
      reporter.warn(replaced);
    for (const std::string& line : groups_.lines()) reporter.say(line);
    if (options.revalidate) reporter.say(revalidated(program, machine_.as_planned()));
  }

  // From here on, the training thread allocates nothing: an iteration uses only the plan's arena.
  void run() {
    watch_signals();
    watch_.begin();
    if (progress_.evaluation_is_due && evaluation_feeder_)
      evaluate((progress_.iteration - 1) / length_.per_epoch, false);
    for (int64_t epoch = progress_.iteration / length_.per_epoch; epoch < length_.epochs && !done(); ++epoch)
      run_epoch(epoch);
  }

  Exit exit() const {
    if (checkpoints_.last_is_missing()) return Exit::unwritable_output;
    return !stopping() ? Exit::ok : stopped_by() == SIGINT ? Exit::interrupted : Exit::terminated;
  }

  // Writes all outputs before it throws: after a long training, one failed file must not prevent saving the weights.
  void finish() {
    std::vector<TrainerError> failed;
    const auto attempt = [&](const auto& write) {
      try {
        write();
        return true;
      } catch (const TrainerError& error) {
        failed.push_back(error);
        return false;
      }
    };
    attempt([&] { reporter_.close(); });
    check_weights();
    if (checkpoints_ && !checkpoints_.failure()) checkpoints_.save(progress_, "");
    checkpoints_.finish("");
    if (checkpoints_.failure()) failed.push_back(*checkpoints_.failure());
    // All ranks exit with the code for what rank 0 could not write.
    checkpoints_.share_last_is_missing(team_.highest(checkpoints_.last_is_missing()) != 0);
    if (team_.ranks()) machine_.forget_recordings();
    team_.leave();
    if (best_.is_of_earlier_run() && !options_.save.empty()) save_best_of_checkpoint();
    if (best_.error()) failed.push_back(*best_.error());
    if (best_.stops_early())
      reporter_.say("stopped early, after " + counted(progress_.iteration, "iteration") + ": " +
                    counted(progress_.best.since, "evaluation") + " without improvement");
    if (best_.kept()) best_.tell(checkpoints_ ? checkpoints_.path_of(progress_.best.iteration) : "");
    if (range_test_) reporter_.say(range_test_->conclusion());
    const bool saved = !options_.save.empty() && !best_.kept() && attempt([&] { save_weights(); });
    const bool traced =
        !options_.trace.empty() && attempt([&] { write_trace(options_.trace, program_, machine_.round(), times_); });
    if (program_.scales_loss) reporter_.say(in_words(progress_.scaling, progress_.iteration));
    watch_.ended(machine_.arena().allocated_bytes());
    if (!options_.quiet) watch_.print(machine_.arena().allocated_bytes());
    if (checkpoints_ && !checkpoints_.last_is_missing())
      reporter_.say("checkpoint " + checkpoints_.path_of(progress_.iteration));
    if (saved) reporter_.say("saved " + options_.save);
    if (traced)
      reporter_.say("traced " + options_.trace + "; `plimsoll inspect DIR --html report.html --measured " +
                    options_.trace + "` shows it next to the plan in DIR");
    if (options_.json) print_figures(saved || (best_.kept() && !best_.error()));
    checkpoints_.warn_of_missing();
    if (stopping() && (!checkpoints_.failure() || progress_.iteration < schedule_.iterations))
      reporter_.warn("stopped after " + counted(progress_.iteration, "iteration"));
    throw_first(failed);
  }

 private:
  // A signal asked for the end, or a required checkpoint could not be written. Ranks agree on it after each iteration,
  // so a signal to one of them ends all.
  bool stopping() const { return stopped_by() != 0; }
  int stopped_by() const { return team_.size() > 1 ? agreed_end_ : wanted_end(); }
  int wanted_end() const { return checkpoints_.failure() ? kNoCheckpoint : interrupted_by(); }
  void agree() {
    if (team_.size() > 1) agreed_end_ = team_.highest(wanted_end());
  }
  bool done() const {
    return progress_.iteration >= length_.steps || stopping() || best_.stops_early() ||
           (range_test_ && range_test_->ended());
  }

  // All settings that decide how a gradient changes the weights.
  std::string describe_rates() const {
    return describe(schedule_) + (groups_.description().empty() ? "" : ", " + groups_.description()) +
           describe(program_, options_.feeding.mixing);
  }

  void run_epoch(int64_t epoch) {
    const int64_t first = progress_.iteration % length_.per_epoch;
    if (first == 0) progress_.seen = 0, progress_.loss_sum = progress_.correct_sum = 0;
    feeder_->begin_epoch(epoch);
    double seconds = 0;
    int64_t samples = 0;
    for (int64_t i = first; i < length_.per_epoch && !done(); ++i) {
      const IterationResult result = step(epoch, i);
      seconds += result.seconds;
      samples += result.samples;
      if (evaluation_feeder_ && options_.eval_every > 0 && progress_.iteration % options_.eval_every == 0)
        evaluate(epoch, false);
      // A checkpoint includes the evaluation after its iteration: a run that resumes from it does not repeat that.
      const bool evaluates_first =
          evaluation_feeder_ && options_.eval_every == 0 && (i + 1 == length_.per_epoch || done());
      if (!evaluates_first && checkpoint_is_due()) save_checkpoint();
    }
    if (samples == 0) return;
    EpochResult result{.epoch = epoch, .samples = samples, .skipped = progress_.seen == 0, .seconds = seconds};
    const auto seen = static_cast<double>(std::max<int64_t>(1, progress_.seen));
    result.loss = progress_.loss_sum / seen;
    if (program_.counts_correct) result.accuracy = progress_.correct_sum / (seen * labels_);
    if (evaluation_feeder_ && options_.eval_every == 0) result.evaluation = evaluate(epoch, true);
    reporter_.epoch(result);
    if (options_.checkpoint_every > 0 ? evaluation_feeder_ && options_.eval_every == 0 && checkpoint_is_due()
                                      : checkpoints_ && !done())
      save_checkpoint();
  }

  // Of --checkpoint-every.
  bool checkpoint_is_due() const {
    return checkpoints_ && options_.checkpoint_every > 0 && progress_.iteration % options_.checkpoint_every == 0;
  }

  // The samples of an iteration of the epoch; none after the last.
  Samples samples_of(int64_t in_epoch) const {
    const int64_t first = in_epoch * program_.batch;
    if (in_epoch >= length_.per_epoch) return {};
    return {first, std::min(program_.batch, data_.training.samples - first)};
  }

  IterationResult step(int64_t epoch, int64_t in_epoch) {
    const Samples samples = samples_of(in_epoch);
    const double rate = rate_at(schedule_, progress_.iteration), began = now_seconds();
    if (team_.ranks()) team_.pulse()->reached(progress_.iteration);
    if (options_.on_nan == OnNan::skip) statistics_.keep();
    const double scale = progress_.scaling.scale;
    const Machine::Totals totals =
        machine_.play(*feeder_, {.samples = samples,
                                 .padded = options_.last_batch == LastBatch::pad,
                                 .next = samples_of(in_epoch + 1),
                                 .context = {.seed = progress_.seed,
                                             .iteration = progress_.iteration,
                                             .learning_rate = rate,
                                             .gradient_scale = scale > 0 ? scale : 1,
                                             .skipped = progress_.scaling.skipped},
                                 .times = options_.trace.empty() ? nullptr : &times_,
                                 .guarded = options_.on_nan != OnNan::ignore});  // if the backend supports it
    const bool is_left_out = !totals.finite && options_.on_nan != OnNan::ignore;
    // The loss does not depend on the scale: an iteration that is left out says nothing about it.
    const bool can_scale = is_left_out || scaled(progress_.scaling, totals.overflowed, options_.scaling);
    const IterationResult result{.iteration = progress_.iteration,
                                 .epoch = epoch,
                                 .samples = samples.count,
                                 .loss = totals.loss,
                                 .correct = program_.counts_correct ? totals.correct : -1,
                                 .labels = totals.labels,
                                 .learning_rate = rate,
                                 .seconds = now_seconds() - began,
                                 .stall_seconds = totals.stall_seconds,
                                 .moved_bytes = totals.moved_bytes,
                                 .loss_scale = scale,
                                 .skipped_steps = progress_.scaling.skipped};
    if (range_test_) range_test_->add(rate, totals.finite ? totals.loss : NAN);
    watch_.iteration_ended(result.iteration - first_iteration_, result.seconds, totals,
                           machine_.arena().allocated_bytes());
    checkpoints_.poll(kTrainingContinues);
    agree();
    reporter_.iteration(last_ = result);
    ++progress_.iteration;
    progress_.evaluation_is_due = false;
    if (is_left_out) {
      leave_out(result, totals);
      return result;
    }
    if (!can_scale && options_.on_nan != OnNan::ignore) refuse_to_scale(result);
    progress_.loss_sum += totals.loss * static_cast<double>(samples.count);
    // Weighted by samples, as the loss is, even if some of their labels are ignored.
    if (totals.labels > 0)
      progress_.correct_sum +=
          totals.correct * (static_cast<double>(samples.count) * labels_ / static_cast<double>(totals.labels));
    progress_.seen += samples.count;
    if (average_ && !totals.overflowed) average_->add();
    return result;
  }

  // No weight has changed. If a weight itself is NaN or infinite, skipping the iteration does not help.
  void leave_out(const IterationResult& result, const Machine::Totals& totals) {
    const bool ends = options_.on_nan == OnNan::stop || totals.weights_are_bad;
    if (ends && !team_.speaks()) throw TrainerError(Exit::invalid_model, "");  // rank 0 prints the error
    if (options_.on_nan == OnNan::stop) diverged(result, totals.bad, "; --on-nan skip leaves such iterations out");
    if (totals.weights_are_bad) diverged(result, totals.bad, "; skipping iterations does not help then");
    statistics_.restore();
    reporter_.warn("warning: skipped, " + what_went_wrong(result, totals.bad));
  }

  [[noreturn]] void refuse_to_scale(const IterationResult& result) const {
    if (!team_.speaks()) throw TrainerError(Exit::invalid_model, "");  // rank 0 prints the error
    char text[256];
    std::snprintf(text, sizeof text,
                  "in iteration %lld gradients are infinite or NaN whatever the scale of the loss, now %g: lower --lr, "
                  "or compile with --precision bf16, whose range is that of f32",
                  static_cast<long long>(result.iteration), result.loss_scale);
    throw TrainerError(Exit::invalid_model, text);
  }

  void check_weights() {
    if (options_.on_nan != OnNan::ignore) refuse_bad_results(program_, port_, progress_.iteration);
  }

  void save_checkpoint() {
    check_weights();
    checkpoints_.save(progress_, kTrainingContinues);
  }

  void save_weights() {
    const Evaluation evaluation = evaluated_at_ == progress_.iteration ? last_evaluation_ : Evaluation{};
    with_averaged_weights([&] { save_weights_of(progress_.iteration, evaluation); });
  }

  void save_weights_of(int64_t iteration, const Evaluation& evaluation) {
    save_model(program_, model_file_, options_.save, port_,
               serialized(notes_of_run(data_.training, evaluation, iteration)));
  }

  // The earlier run may have had no --save, another file, or no time to write it. At the end of the run: the arena then
  // has the weights of the checkpoint.
  void save_best_of_checkpoint() {
    const Best& best = progress_.best;
    best_.save_at_end([&] {
      checkpoints_.load_evaluated(best.iteration);
      save_weights_of(best.iteration, {.samples = best.samples, .loss = best.loss, .accuracy = best.accuracy});
    });
  }

  template <class Work>
  void with_averaged_weights(const Work& work) {
    if (average_) average_->during(std::ref(work));  // a reference: an iteration allocates nothing
    else work();
  }

  Evaluation evaluate(int64_t epoch, bool in_epoch_line) {
    Evaluation result;
    const auto stops = [&] {
      agree();
      return stopping();
    };
    with_averaged_weights([&] {
      share_statistics(program_, port_, team_);
      result = evaluate_all(program_, machine_, *evaluation_feeder_, *data_.evaluation, stops);
    });
    // Without --eval-every, the end of a run in the middle of an epoch adds an evaluation: that one is not due later.
    progress_.evaluation_is_due =
        result.samples == 0 && stopping() && (options_.eval_every > 0 || progress_.iteration % length_.per_epoch == 0);
    if (result.samples == 0) return {};
    last_evaluation_ = result;
    evaluated_at_ = progress_.iteration;
    reporter_.evaluation(progress_.iteration - 1, epoch, result, in_epoch_line);
    if (options_.best != Metric::none || options_.early_stop > 0) compare_with_best(result);
    return result;
  }

  void compare_with_best(const Evaluation& result) {
    if (!best_.improves(result, progress_.iteration) || options_.best == Metric::none) return;
    if (checkpoints_ && !checkpoints_.failure()) save_checkpoint();
    if (options_.save.empty()) return;
    check_weights();
    best_.save_while_training([&] { save_weights(); });
  }

  void print_figures(bool saved) const {
    const bool kept = checkpoints_ && !checkpoints_.last_is_missing();
    const std::string text =
        as_json(program_, {.iterations = progress_.iteration,
                           .epoch = last_.epoch + 1,
                           .loss = last_.loss,
                           .accuracy = last_.correct < 0 ? -1 : last_.correct / std::max<double>(1, last_.labels),
                           .evaluation = last_evaluation_,
                           .best = progress_.best,
                           .best_by = options_.best,
                           .stopped_early = best_.stops_early(),
                           .interrupted = stopping(),
                           .median_seconds = watch_.median_seconds(),
                           .allocated_bytes = machine_.arena().allocated_bytes(),
                           .saved = saved ? options_.save : "",
                           .checkpoint = kept ? checkpoints_.path_of(progress_.iteration) : ""});
    std::printf("%s\n", text.c_str());
  }

  const Program& program_;
  const Options& options_;
  const std::string& model_file_;
  Data& data_;
  const Length length_;
  Reporter& reporter_;
  Team& team_;
  static constexpr int kNoCheckpoint = 127;  // not the number of a signal
  static constexpr const char* kTrainingContinues = " (training continues)";
  int agreed_end_ = 0;
  UpdateGroups groups_;
  RunWatch watch_;  // constructed before the machine allocates memory
  Machine machine_;
  const double labels_ = static_cast<double>(labels_per_sample(program_));  // of a sample
  int64_t first_iteration_ = 0;  // of this process
  ParameterPort port_;
  Statistics statistics_;
  Schedule schedule_;
  Progress progress_;
  RunCheckpoints checkpoints_;
  BestWeights best_;
  IterationResult last_ = {.loss = NAN};
  Evaluation last_evaluation_ = {};
  int64_t evaluated_at_ = -1;  // iterations that were done then
  std::optional<RangeTest> range_test_;
  std::optional<WeightAverage> average_;
  std::optional<Feeder> feeder_, evaluation_feeder_;
  StepTimes times_;  // of --trace
};

}  // namespace

Exit train(const Program& compiled, const Options& given, const std::string& model_file) {
  check_backend(given);
  const Program program = with_batch(compiled, given.batch);
  Team team(program, given.told, given.patience);
  if (!given.measure_ranks.empty()) {
    measure_ranks(program, team, given.measure_ranks, given.quiet);
    return Exit::ok;
  }
  const Options options = of_this_rank(given, team.speaks());
  // Errors of files are found before memory is allocated and kernels are built.
  Data data;
  team.together([&] {
    data = prepare(program, options, model_file);
    backend::start(program.threads);
    check_host_memory(program, options.spill, options.average_decay ? WeightAverage::bytes(program) : 0);
  });
  const Length length = length_of(options, program, data.training.samples);
  Reporter reporter(options.quiet, options.metrics, program, length.per_epoch, length.epochs);
  reporter.also_write(options.html, options.tensorboard, program, length.iterations);
  if (!options.quiet) print_start(program, data.training, length.per_epoch, options.spill);
  std::signal(SIGXFSZ, SIG_IGN);  // at a file size limit, write() fails instead
  if (!team.speaks()) reporter.silence();
  if (const std::string warning = more_threads_than_processors(program.threads, processors()); !warning.empty())
    reporter.warn(warning);
  if (options.feeding.mixing.on())
    reporter.say("training samples are mixed: " + describe(program, options.feeding.mixing).substr(2));
  for (const std::string& warning : data.training.warnings) reporter.warn("warning: " + warning);
  if (data.evaluation)
    for (const std::string& warning : data.evaluation->warnings) reporter.warn("warning: " + warning);
  Loop loop(program, compiled, options, model_file, data, length, reporter, team);
  loop.run();
  loop.finish();
  return loop.exit();
}

}  // namespace plimsoll::train
