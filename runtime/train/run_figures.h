// --json: the figures of a run as one JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/program.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/options.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

// The results of a training run, when it ends.
struct RunFigures {
  int64_t iterations = 0;  // done, those before a resumed checkpoint included
  int64_t epoch = 0;       // of the last iteration, from 1
  double loss = 0;         // of the last iteration; NaN: unknown
  double accuracy = -1;    // likewise, in [0, 1]; -1: not counted
  Evaluation evaluation = {};  // the last one
  Best best = {};
  Metric best_by = Metric::none;
  bool stopped_early = false, interrupted = false;
  double median_seconds = 0;    // of an iteration; 0: none was run
  int64_t allocated_bytes = 0;  // by the arena
  std::string saved = {}, checkpoint = {};  // paths; "": none
};

// On one line. Numbers that are unknown or not finite are null.
std::string as_json(const Program& program, const RunFigures& run);

// Of --predict.
std::string prediction_as_json(const Program& program, int64_t samples, const std::string& file);

}  // namespace plimsoll::train
