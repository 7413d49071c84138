// Samples through the model: the forward steps of the plan as far as the model's output, in the same arena, with running
// statistics and without dropout. For a look at what was trained, or at what an exporter made of a model.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/error.h"
#include "runtime/train/options.h"

namespace plimsoll::train {

// Writes options.out: an npy file of float32 [samples, …], a row per sample of options.predict, in its order. Weights are
// those of the model file or, with options.resume, of the newest checkpoint.
// Throws TrainerError and what the backend throws; then there is no file of that name, or the old one as it was.
Exit predict(const Program& program, const Options& options, const std::string& model_file);

}  // namespace plimsoll::train
