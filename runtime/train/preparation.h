// Checks of options and files. They run before memory is allocated, so that all such errors are found at once.
#pragma once

#include <optional>

#include "runtime/program.h"
#include "runtime/train/dataset.h"
#include "runtime/train/options.h"

namespace plimsoll::train {

// Data sources, opened and checked against the program.
struct Data {
  Dataset training;
  std::optional<Dataset> evaluation;
};

// The length of a run.
struct Length {
  int64_t per_epoch = 0, epochs = 0, steps = 0;  // iterations of an epoch, epochs, and the limit of iterations
  int64_t iterations = 0;  // of the run
};

// All throw TrainerError.
void check_backend(const Options& options);  // options that this backend does not support
Data prepare(const Program& program, const Options& options, const std::string& model_file);
// Throws where the host has not enough memory left for the host pool (if that is no file), for the arena (where it is
// the host's) and for `average` bytes of averaged weights. Before: backend::start().
void check_host_memory(const Program& program, const std::string& spill, int64_t average = 0);

Length length_of(const Options& options, const Program& program, int64_t samples);

}  // namespace plimsoll::train
