// --predict: runs the forward steps of the plan up to the model's output, in the same arena, with running statistics
// and without dropout.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/error.h"
#include "runtime/train/options.h"

namespace plimsoll::train {

// Writes options.out (prediction_file.h): a row or line for each sample of options.predict, in its order. Weights are
// those of the model file or, with options.resume, of the newest checkpoint; averaged ones if the checkpoint has them.
// Throws TrainerError and what the backend throws; an earlier file of that name then stays as it was.
Exit predict(const Program& program, const Options& options, const std::string& model_file);

}  // namespace plimsoll::train
