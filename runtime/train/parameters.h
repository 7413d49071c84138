// Weights on their way from the model file into the arena and back.
#pragma once

#include <string>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

// `init` is "file" or "he:SEED". Before: the arena is zero, as optimizer state must be.
// Throws TrainerError: usage for another `init`, unreadable_input, invalid_model when the file is not the program's.
void init_parameters(const Program& program, const std::string& init, const std::string& model_file,
                     const backend::Arena& arena);

// Writes the model with the arena's weights and statistics in place of its own. Throws TrainerError
// (unwritable_output); then there is no file of that name, or the old one as it was.
void save_model(const Program& program, const std::string& model_file, const std::string& path,
                const backend::Arena& arena);

}  // namespace plimsoll::train
