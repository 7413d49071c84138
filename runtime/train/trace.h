// A trainer's --trace: what happened in one round, in the form that Perfetto and chrome://tracing open and that
// `plimsoll inspect --html --measured` reads.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/round.h"
#include "runtime/step_times.h"

namespace plimsoll::train {

// Throws TrainerError (unwritable_output) where no file can appear at `path`.
void check_trace(const std::string& path);

// Steps that did not run are left out. Throws TrainerError (unwritable_output); the file is whole or not there.
void write_trace(const std::string& path, const Program& program, const Round& round, const StepTimes& times);

}  // namespace plimsoll::train
