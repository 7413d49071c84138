// Copies weights, statistics and optimizer state between the arena (or host pool) and the model's files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/file.h"
#include "runtime/train/parameter_port.h"

namespace plimsoll::train {

// Reads values of a parameter from the model's file; `values` are those in memory from byte `at`, in plain order.
void read_from_file(const InputFile& file, const ProgramParameter& parameter, int64_t at, std::span<std::byte> values);

// A copy of the running statistics, to restore them after an iteration with bad samples.
class Statistics {
 public:
  Statistics(const Program& program, const backend::Arena& arena);
  void keep();
  void restore();

 private:
  struct Copy {
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  std::vector<Copy> copies_;
};

// The first weight, statistic or state that holds NaN or infinity; nullptr: none.
const ProgramParameter* find_bad_parameter(const Program& program, ParameterPort& port);

// Throws TrainerError (invalid_model) if there is one: such a model cannot be trained.
void refuse_bad_parameters(const Program& program, ParameterPort& port);

// The same before a save. A gradient can overflow although the loss is finite, and a Relu can hide its effect.
void refuse_bad_results(const Program& program, ParameterPort& port, int64_t iterations);

// `init`: "file" or "he:SEED". Before: the arena is zero, as optimizer state must be. Throws TrainerError: usage for
// another `init`; unreadable_input; invalid_model if the file is not the program's model. After: `port` reads rounded
// parameters from the file, which stays open.
void init_parameters(const Program& program, const std::string& init, const std::string& model_file,
                     ParameterPort& port);

// Writes the model with the weights and statistics of the arena, and `notes` at its end (model_notes.h). If its weights
// are in a second file, that one is written to the same directory, with a name derived from the name of `path`. Throws
// TrainerError (unwritable_output); an earlier file of that name then stays as it was.
void save_model(const Program& program, const std::string& model_file, const std::string& path, ParameterPort& port,
                const std::string& notes = {});

}  // namespace plimsoll::train
