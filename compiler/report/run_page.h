// `plimsoll runs`: the results of training runs, as a table and as a page of curves. Pure functions of the metrics
// files.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/report/metrics.h"

namespace plimsoll {

// The results of a run. NaN: unknown.
struct RunFigures {
  double loss = NAN;  // mean of the last twentieth of the run: the loss of a single iteration is noisy
  double best_accuracy = NAN, best_loss = NAN;  // of evaluations
  double samples_per_second = NAN, seconds = 0;
  int64_t resident_bytes = 0;  // of the process, the largest
};
RunFigures run_figures(const TrainingRun& run);

// A line per run: its length, last loss, best evaluation, speed and memory.
std::string report_runs(const std::vector<TrainingRun>& runs, bool color);

// Loss, accuracy, learning rate, samples per second and memory against iterations or time, all runs in each chart. In
// long runs adjacent iterations are averaged, so that a page stays below a megabyte per run.
std::string run_page(const std::vector<TrainingRun>& runs);

}  // namespace plimsoll
