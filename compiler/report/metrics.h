// Reads the files that trainers write with --metrics: one run per file, JSON lines or comma-separated values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

struct MetricsLine {
  int64_t iteration = 0, epoch = 0, samples = 0;
  double loss = 0, accuracy = 0, learning_rate = 0, seconds = 0, stall_seconds = 0;  // NaN if the line has none
};

struct MetricsEvaluation {
  int64_t iteration = 0, samples = 0;
  double loss = 0, accuracy = 0;  // NaN if the line has none
};

struct TrainingRun {
  std::string name = {};
  std::vector<MetricsLine> lines = {};  // sorted by iteration
  std::vector<MetricsEvaluation> evaluations = {};
  int64_t arena_planned_bytes = 0, arena_allocated_bytes = 0;
  std::vector<int64_t> resident_bytes = {};  // by line: peak memory of the process so far
};

// `text` is a whole file. An incomplete last line is ignored, because the trainer may still be writing. Errors:
// unreadable_input, with the line, if a line has neither form, or the file contains no iteration.
Result<TrainingRun> read_metrics(std::string_view text, std::string name);

// Short names that distinguish the files: "digits" for "runs/digits/metrics.jsonl".
std::vector<std::string> run_names(const std::vector<std::string>& paths);

}  // namespace plimsoll
