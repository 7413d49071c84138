#include "runtime/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "runtime/backend.h"
#include "runtime/streams.h"
#include "runtime/train/error.h"
#include "runtime/train/feeder.h"
#include "runtime/train/options.h"
#include "runtime/train/parameters.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

// The one global thing: a signal handler has nowhere else to write to.
volatile std::sig_atomic_t interrupted = 0;

void on_signal(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);  // a second one ends the process at once
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// The program with its kernels and its memory: runs iterations.
class Machine {
 public:
  Machine(const Program& program, const Options& options)
      : program_(program), arena_(program.arena_bytes), full_(program.kernels), last_(program.kernels),
        may_record_(options.graph) {
    if (program.host_pool_bytes > 0) pool_ = std::make_unique<backend::HostPool>(program.host_pool_bytes, options.spill);
    program.build(full_, program.sub_batch);
    if (program.last_sub_batch != program.sub_batch) program.build(last_, program.last_sub_batch);
    program.forward(round_);
    round_.end_forward();
    program.backward(round_);
    streams_ = std::make_unique<backend::Streams>(program, round_, arena_, pool_.get());
  }

  struct Totals {
    double loss = 0;
    double correct = 0;
  };

  // All rounds of one iteration, on the samples from `first` on in the feeder's order. Evaluation runs forward only.
  Totals iteration(Feeder& feeder, int64_t first, const RunContext& iteration_context) {
    Totals totals;
    for (int64_t r = 0; r < program_.rounds; ++r) {
      const bool last = r + 1 == program_.rounds;
      const int64_t samples = last ? program_.last_sub_batch : program_.sub_batch;
      feeder.stage(first + r * program_.sub_batch, samples);
      RunContext context = iteration_context;
      context.round = r;
      const bool full = samples == program_.sub_batch;
      const RoundResult result = streams_->play({.kernels = full ? &full_ : &last_,
                                                 .staged = feeder.staged(),
                                                 .context = context,
                                                 .samples = samples,
                                                 .last = last,
                                                 .may_record = may_record_});
      totals.loss += result.loss;
      totals.correct += result.correct;
    }
    return totals;
  }

  const backend::Arena& arena() const { return arena_; }

 private:
  const Program& program_;
  backend::Arena arena_;
  std::unique_ptr<backend::HostPool> pool_;
  KernelSet full_, last_;
  const bool may_record_;
  Round round_;
  std::unique_ptr<backend::Streams> streams_;
};

// What the driver and the libraries take of a device beside the arena: no plan knows it, so it is measured. The first
// iterations are their warm-up; whoever takes more later takes it behind our back.
class DeviceUse {
 public:
  DeviceUse() : start_(backend::device_memory()) {}
  void iteration_ended(int64_t iteration) {
    if (iteration == kWarm) warm_ = backend::device_memory();
  }
  void print(int64_t arena_bytes) const {
    const std::optional<backend::DeviceMemory> end = backend::device_memory();
    if (!start_ || !end) return;
    std::printf("device memory beside the arena %.1f MiB since the start, by libraries and graphs; %.1f MiB of %.1f MiB free",
                mebibytes(start_->free - end->free - arena_bytes), mebibytes(end->free), mebibytes(end->total));
    if (warm_ && warm_->free > end->free) std::printf("; %.1f MiB of it since iteration %lld", mebibytes(warm_->free - end->free),
                                                      static_cast<long long>(kWarm + 1));
    std::printf("\n");
  }

 private:
  static constexpr int64_t kWarm = 2;  // every kind of round was issued and recorded
  std::optional<backend::DeviceMemory> start_, warm_;
};

void need_a_batch(const Program& program, const Dataset& dataset) {
  if (dataset.samples >= program.batch) return;
  throw TrainerError(Exit::invalid_model, "'" + dataset.name + "' has " + std::to_string(dataset.samples) +
                                              " samples when an iteration takes " + std::to_string(program.batch) +
                                              "; compile the model with a smaller --batch");
}

[[noreturn]] void diverged(int64_t iteration, double loss, double learning_rate) {
  char what[160];
  std::snprintf(what, sizeof what,
                "the loss is %g in iteration %lld: lower --lr, now %g, or look for NaN in the data; --on-nan ignore goes on",
                loss, static_cast<long long>(iteration), learning_rate);
  throw TrainerError(Exit::invalid_model, what);
}

void print_start(const Program& program, const Dataset& data, const std::string& spill) {
  const std::string on = program.threads > 0 ? std::to_string(program.threads) + " threads" : backend::device_name();
  std::printf("%s: batch %lld in %lld round%s of %lld, %s, %s\n", program.model, static_cast<long long>(program.batch),
              static_cast<long long>(program.rounds), program.rounds == 1 ? "" : "s",
              static_cast<long long>(program.sub_batch), on.c_str(), backend::library_version().c_str());
  std::printf("data %s: %lld samples, %lld iterations an epoch, %lld samples left over\n", data.name.c_str(),
              static_cast<long long>(data.samples), static_cast<long long>(data.samples / program.batch),
              static_cast<long long>(data.samples % program.batch));
  std::printf("planned arena %.1f MiB (%lld bytes), of it %.1f MiB for the whole run", mebibytes(program.arena_bytes),
              static_cast<long long>(program.arena_bytes), mebibytes(program.persistent_bytes));
  if (program.budget_bytes > 0) std::printf(", budget %.1f MiB", mebibytes(program.budget_bytes));
  std::printf("\n");
  const std::string libraries = backend::library_version();
  if (*program.libraries != '\0' && program.libraries != libraries)
    std::printf("planned with %s; workspaces of what is here are held to the plan\n", program.libraries);
  if (program.host_pool_bytes > 0)
    std::printf("host pool %.1f MiB (%lld bytes) %s%s\n", mebibytes(program.host_pool_bytes),
                static_cast<long long>(program.host_pool_bytes), spill.empty() ? "in memory" : "in a file in ",
                spill.c_str());
}

void print_end(const Program& program, const Machine& machine, double median_seconds) {
  std::printf("arena planned %lld bytes, allocated %lld; peak resident memory of the process %.1f MiB\n",
              static_cast<long long>(program.arena_bytes), static_cast<long long>(machine.arena().allocated_bytes()),
              mebibytes(peak_resident_bytes()));
  std::printf("iteration measured %.3f ms (median)", 1e3 * median_seconds);
  if (program.predicted_seconds > 0)
    std::printf(", predicted %.3f ms (%s), %+.1f%%", 1e3 * program.predicted_seconds, program.predicted_by,
                100 * (median_seconds / program.predicted_seconds - 1));
  std::printf("\n");
}

// Over all samples where the labels are classes (the feeder fills the last batch with what counts nowhere), else over
// all whole batches.
EpochResult evaluate(const Program& program, Machine& machine, Dataset& dataset, Feeder& feeder) {
  EpochResult result{.tested = true, .test_loss = 0, .test_accuracy = -1};
  const int64_t filled = program.classes > 0 ? program.batch - 1 : 0;
  const int64_t iterations = (dataset.samples + filled) / program.batch;
  Machine::Totals sum;
  for (int64_t i = 0; i < iterations && !interrupted; ++i) {
    const Machine::Totals totals = machine.iteration(feeder, i * program.batch, {.training = false, .iteration = i});
    sum.loss += totals.loss;
    sum.correct += totals.correct;
  }
  result.test_samples = std::min(dataset.samples, iterations * program.batch);
  // Each iteration gave its share of a mean over a whole batch.
  result.test_loss = sum.loss * static_cast<double>(program.batch) / static_cast<double>(result.test_samples);
  if (program.counts_correct) result.test_accuracy = sum.correct / static_cast<double>(result.test_samples);
  return result;
}

// Durations of the last iterations, for a median that one slow start does not move.
class Durations {
 public:
  Durations() { seconds_.reserve(kKept); }
  void add(double seconds) {
    if (seconds_.size() < kKept) seconds_.push_back(seconds);
    else seconds_[next_++ % kKept] = seconds;
  }
  double median() const {
    std::vector<double> sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }

 private:
  static constexpr size_t kKept = 1024;
  std::vector<double> seconds_;
  size_t next_ = 0;
};

Exit train(const Program& program, const Options& options, const std::string& model_file) {
  // Everything that can be wrong with files is found before memory is taken and kernels are built.
  Dataset data = open_dataset(options.data, Part::training, program);
  need_a_batch(program, data);
  check_labels(data, program);
  std::optional<Dataset> test;
  if (!options.test.empty()) {
    test = open_dataset(options.test, Part::test, program);
    if (program.classes == 0) need_a_batch(program, *test);
    check_labels(*test, program);
  }
  if (!options.save.empty() && program.model_bytes == 0)
    throw TrainerError(Exit::usage, "--save: this trainer was made without a model file");
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::path(options.save).parent_path();
  if (std::filesystem::exists(options.save, unknown) && !std::filesystem::is_regular_file(options.save, unknown))
    throw TrainerError(Exit::unwritable_output, "cannot write '" + options.save + "': it is not a file");
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    throw TrainerError(Exit::unwritable_output, "cannot write '" + options.save + "': there is no such directory");

  const int64_t per_epoch = data.samples / program.batch;
  int64_t steps = options.steps, epochs = options.epochs;
  if (epochs == 0) epochs = steps == 0 ? 1 : (steps + per_epoch - 1) / per_epoch;
  if (steps == 0) steps = epochs * per_epoch;

  backend::start(program.threads);
  Reporter reporter(options.quiet, options.metrics, program.batch, per_epoch, epochs);
  if (!options.quiet) print_start(program, data, options.spill);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of its write, not our end
  DeviceUse device_use;
  Machine machine(program, options);
  init_parameters(program, options.init, model_file, machine.arena());
  Feeder feeder(program, data, options.shuffle, options.seed);
  std::optional<Feeder> test_feeder;
  if (test) test_feeder.emplace(program, *test, false, 0);
  Durations durations;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  // Beyond this point the training thread allocates nothing: the plan's arena is all that an iteration touches.

  int64_t iteration = 0;
  for (int64_t epoch = 0; epoch < epochs && iteration < steps && !interrupted; ++epoch) {
    feeder.begin_epoch(epoch);
    const double epoch_began = now_seconds();
    Machine::Totals sum;
    int64_t in_epoch = 0;
    for (; in_epoch < per_epoch && iteration < steps && !interrupted; ++in_epoch, ++iteration) {
      const double began = now_seconds();
      const Machine::Totals totals = machine.iteration(
          feeder, in_epoch * program.batch,
          {.seed = options.seed, .iteration = iteration, .learning_rate = options.learning_rate});
      const double seconds = now_seconds() - began;
      durations.add(seconds);
      device_use.iteration_ended(iteration);
      sum.loss += totals.loss;
      sum.correct += totals.correct;
      reporter.iteration({iteration, epoch, totals.loss, program.counts_correct ? totals.correct : -1,
                          options.learning_rate, seconds});
      if (options.stop_on_nan && !std::isfinite(totals.loss)) diverged(iteration, totals.loss, options.learning_rate);
    }
    const double seconds = now_seconds() - epoch_began;
    if (in_epoch == 0) break;
    EpochResult result = test && !interrupted ? evaluate(program, machine, *test, *test_feeder) : EpochResult{};
    if (interrupted) result.tested = false;
    result.epoch = epoch;
    result.iterations = in_epoch;
    result.loss = sum.loss / static_cast<double>(in_epoch);
    if (program.counts_correct) result.accuracy = sum.correct / static_cast<double>(in_epoch * program.batch);
    result.seconds = seconds;
    reporter.epoch(result);
  }

  reporter.close();
  if (!options.save.empty()) save_model(program, model_file, options.save, machine.arena());
  if (!options.quiet) {
    print_end(program, machine, durations.median());
    device_use.print(machine.arena().allocated_bytes());
    if (!options.save.empty()) std::printf("saved %s\n", options.save.c_str());
  }
  if (interrupted) std::fprintf(stderr, "stopped after %lld iterations\n", static_cast<long long>(iteration));
  return interrupted ? Exit::stopped : Exit::ok;
}

// Where the sources are, or beside a program that was moved away from them.
std::string model_file(const std::string& trainer_directory) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const std::string here = trainer_directory + "/model.onnx";
  if (fs::exists(here, unknown)) return here;
  const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path beside = self.parent_path() / "model.onnx";
  return !unknown && fs::exists(beside, unknown) ? beside.string() : here;
}

int fail(Exit code, const char* what) {
  std::fprintf(stderr, "error: %s\n", what);
  return static_cast<int>(code);
}

}  // namespace

int main(const Program& program, const char* trainer_directory, int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      std::fputs(kHelp, stdout);
      return 0;
    }
    return static_cast<int>(train(program, options, options.model.empty() ? model_file(trainer_directory) : options.model));
  } catch (const TrainerError& error) {
    return fail(error.code, error.what());
  } catch (const KernelError& error) {
    return fail(Exit::environment, error.what());
  } catch (const backend::HostPoolError& error) {
    return fail(Exit::unwritable_output, error.what());
  } catch (const backend::DeviceError& error) {
    return fail(Exit::environment, error.what());
  } catch (const backend::NoMemory& error) {
    return fail(Exit::budget, error.what());
  } catch (const std::bad_alloc&) {
    const std::string pool = program.host_pool_bytes == 0
                                 ? ""
                                 : " and " + std::to_string(program.host_pool_bytes) +
                                       " of the host pool, which --spill puts on a disk";
    return fail(Exit::budget, ("this machine does not have the planned " + std::to_string(program.arena_bytes) +
                               " bytes" + pool).c_str());
  } catch (const std::exception& error) {
    return fail(Exit::internal, error.what());
  }
}

}  // namespace plimsoll::train
