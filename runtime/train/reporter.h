// What a trainer says while it works: on a terminal a bar, else a line per epoch, and metrics for machines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace plimsoll::train {

struct IterationResult {
  int64_t iteration = 0;  // from 0, over all epochs
  int64_t epoch = 0;      // from 0
  double loss = 0;
  double correct = -1;    // samples; -1: not counted
  double learning_rate = 0;
  double seconds = 0;
};

struct EpochResult {
  int64_t epoch = 0;
  int64_t iterations = 0;
  double loss = 0;             // mean over the iterations
  double accuracy = -1;        // in [0, 1]; -1: not counted
  double seconds = 0;
  bool tested = false;
  double test_loss = 0, test_accuracy = -1;
  int64_t test_samples = 0;
};

// Allocates nothing after construction. Epoch lines go to stdout, the bar to stderr when it is a terminal.
class Reporter {
 public:
  // Throws TrainerError (unwritable_output).
  Reporter(bool quiet, const std::string& metrics_path, int64_t batch, int64_t iterations_per_epoch, int64_t epochs);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void iteration(const IterationResult& result);
  void epoch(const EpochResult& result);
  // Throws TrainerError (unwritable_output) when the metrics could not be written.
  void close();

 private:
  void clear_bar();
  bool quiet_, bar_, color_;
  bool bar_shown_ = false;
  double bar_drawn_at_ = 0;
  std::FILE* metrics_ = nullptr;
  std::string metrics_path_;
  int64_t batch_, iterations_per_epoch_, epochs_;
};

double now_seconds();        // steady clock
int64_t peak_resident_bytes();  // of this process so far

}  // namespace plimsoll::train
