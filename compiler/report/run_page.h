// `plimsoll runs`: how runs of trainers went, as a table and as a page of curves. Pure functions of what the trainers wrote.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/report/metrics.h"

namespace plimsoll {

// What a run came to. NaN: not known.
struct RunFigures {
  double loss = NAN;  // mean of the last twentieth of the iterations: that of one says little
  double best_accuracy = NAN, best_loss = NAN;  // of evaluations
  double samples_per_second = NAN, seconds = 0;
  int64_t resident_bytes = 0;  // of the process, the largest
};
RunFigures run_figures(const TrainingRun& run);

// A line per run: its length, its last loss, its best evaluation, its speed and its memory.
std::string report_runs(const std::vector<TrainingRun>& runs, bool color);

// Loss, accuracy, learning rate, samples a second and memory against iterations or time, all runs in each chart. Of long runs
// neighbouring iterations are averaged, so that a page stays below a megabyte for each run.
std::string run_page(const std::vector<TrainingRun>& runs);

}  // namespace plimsoll
