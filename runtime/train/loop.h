// The training loop: data, iterations, evaluation, checkpoints, saving.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/error.h"
#include "runtime/train/options.h"

namespace plimsoll::train {

// Throws TrainerError and what the backend throws. No partly written file is left then.
Exit train(const Program& program, const Options& options, const std::string& model_file);

}  // namespace plimsoll::train
