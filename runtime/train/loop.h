// The training loop: data, iterations, evaluation, checkpoints, saving.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/error.h"
#include "runtime/train/options.h"

namespace plimsoll::train {

// Throws TrainerError and what the backend throws; then nothing half-done is left on the disk.
Exit train(const Program& program, const Options& options, const std::string& model_file);

}  // namespace plimsoll::train
