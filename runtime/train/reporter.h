// Output during training: a progress bar on a terminal, a line for each epoch, and metrics files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "runtime/train/event_file.h"
#include "runtime/train/run_page.h"

namespace plimsoll::train {

struct IterationResult {
  int64_t iteration = 0;  // from 0, over all epochs
  int64_t epoch = 0;      // from 0
  int64_t samples = 0;
  double loss = 0;
  double correct = -1;    // labels; -1: not counted
  int64_t labels = 1;     // of all samples of the iteration
  double learning_rate = 0;
  double seconds = 0;
  double stall_seconds = 0;  // part of `seconds` in which compute waited for copies
  int64_t moved_bytes = 0;   // by loads, offloads and prefetches
  double loss_scale = 0;     // of the loss's gradient; 0: none
  int64_t skipped_steps = 0;  // so far, by gradients that were not finite
};

struct Evaluation {
  int64_t samples = 0;  // 0: there was none
  double loss = 0;
  double accuracy = -1;  // in [0, 1]; -1: not counted
};

struct EpochResult {
  int64_t epoch = 0;
  int64_t samples = 0;   // of the iterations since the run was started or resumed
  bool skipped = false;  // all iterations were skipped, so there is no loss
  double loss = 0;       // mean over the epoch's iterations
  double accuracy = -1;  // in [0, 1]; -1: not counted
  double seconds = 0;
  Evaluation evaluation = {};
};

// A metrics file, with a line for each iteration: JSON objects, or CSV with a header if the name ends in .csv. The file
// has complete lines only, whenever the process ends.
class Metrics {
 public:
  // Throws TrainerError (unwritable_output).
  Metrics(std::string path, const Program& program);
  ~Metrics();
  Metrics(Metrics&& other) noexcept;
  Metrics& operator=(Metrics&&) = delete;

  // Removes the lines of this iteration and later ones, which will run again. 0: removes everything.
  void start_at(int64_t iteration);
  void set_allocated(int64_t bytes) { allocated_bytes_ = bytes; }
  void iteration(const IterationResult& result);
  void evaluation(int64_t iteration, int64_t epoch, const Evaluation& result);
  // Throws TrainerError (unwritable_output) when the metrics could not be written.
  void close();

 private:
  void number(const char* name, double value);
  void whole(const char* name, int64_t value);
  void nothing(const char* name);
  void field(const char* name);
  void end_line();
  std::string path_;
  std::FILE* file_ = nullptr;
  bool csv_ = false, scales_ = false;
  bool first_field_ = true;
  int64_t planned_bytes_ = 0, allocated_bytes_ = 0;
};

// Allocates nothing after construction. Epoch lines go to stdout, the bar to stderr when it is a terminal.
class Reporter {
 public:
  // Throws TrainerError (unwritable_output).
  Reporter(bool quiet, const std::vector<std::string>& metrics, const Program& program, int64_t iterations_per_epoch,
           int64_t epochs);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Also write a page of curves and an event file for TensorBoard; empty paths: neither.
  // Throws TrainerError (unwritable_output).
  void also_write(const std::string& page, const std::string& events, const Program& program, int64_t steps);

  // Once, before the first iteration; `allocated_bytes` is what the arena took from the system.
  void start_at(int64_t iteration, int64_t allocated_bytes);
  void iteration(const IterationResult& result);
  void evaluation(int64_t iteration, int64_t epoch, const Evaluation& result, bool in_epoch_line);
  void epoch(const EpochResult& result);
  // Prints a line to stdout without disturbing the bar; nothing if quiet.
  void say(const std::string& line);
  void silence() { silent_ = true; }  // of several ranks, only one prints
  // Prints a line to stderr.
  void warn(const std::string& line);
  // Throws TrainerError (unwritable_output) when the metrics could not be written.
  void close();

 private:
  void clear_bar();
  bool quiet_, bar_, color_, silent_ = false;
  bool bar_shown_ = false;
  double bar_drawn_at_ = 0;
  std::vector<Metrics> metrics_;
  std::optional<RunPage> page_;
  std::optional<EventFile> events_;
  double predicted_seconds_;
  int64_t iterations_per_epoch_, epochs_;
};

double now_seconds();        // steady clock
int64_t peak_resident_bytes();  // of this process so far
double mebibytes(int64_t bytes);

}  // namespace plimsoll::train
