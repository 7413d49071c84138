// `plimsoll runs`: the results of training runs, as a table and as a page of curves. Pure functions of the metrics
// files.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/metrics.h"

namespace plimsoll {

// A line per run: its length, last loss, best evaluation, speed and memory.
std::string report_runs(const std::vector<TrainingRun>& runs, bool color);

// Loss, accuracy, learning rate, samples per second and memory against iterations or time, all runs in each chart. In
// long runs adjacent iterations are averaged, so that a page stays below a megabyte per run.
std::string run_page(const std::vector<TrainingRun>& runs);

}  // namespace plimsoll
