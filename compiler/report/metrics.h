// What trainers wrote with --metrics, read back: one run a file, JSON lines or comma-separated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

struct MetricsLine {
  int64_t iteration = 0, epoch = 0, samples = 0;
  double loss = 0, accuracy = 0, learning_rate = 0, seconds = 0, stall_seconds = 0;  // NaN where the line has none
};

struct MetricsEvaluation {
  int64_t iteration = 0, samples = 0;
  double loss = 0, accuracy = 0;  // NaN where the line has none
};

struct TrainingRun {
  std::string name = {};
  std::vector<MetricsLine> lines = {};  // by iteration
  std::vector<MetricsEvaluation> evaluations = {};
  int64_t arena_planned_bytes = 0, arena_allocated_bytes = 0;
  std::vector<int64_t> resident_bytes = {};  // by line: the process's peak so far
};

// `text` is a whole file. A last line that is cut short is left out: its trainer may still be writing.
// Errors: unreadable_input, with the line, where a line is neither or the file has no iteration.
Result<TrainingRun> read_metrics(std::string_view text, std::string name);

// Short names that tell the files apart: "digits" of "runs/digits/metrics.jsonl".
std::vector<std::string> run_names(const std::vector<std::string>& paths);

}  // namespace plimsoll
