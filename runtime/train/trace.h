// --trace: the timeline of one round, in the format of Perfetto and chrome://tracing, which `plimsoll inspect --html
// --measured` also reads.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/round.h"
#include "runtime/step_times.h"

namespace plimsoll::train {

// Throws TrainerError (unwritable_output) if no file can be created at `path`.
void check_trace(const std::string& path);

// Omits steps that did not run. Throws TrainerError (unwritable_output); the file is complete or absent.
void write_trace(const std::string& path, const Program& program, const Round& round, const StepTimes& times);

}  // namespace plimsoll::train
