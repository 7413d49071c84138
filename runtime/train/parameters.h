// Copies weights, statistics and optimizer state between the arena (or host pool) and files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

// Converts between the plain order of files and the layouts of the arena, and optimizer state that is stored in fewer
// bytes to f32 and back (runtime/reduced_state.h). Its buffers hold the largest parameter, so a save during a run
// allocates nothing.
class ParameterPort {
 public:
  // `pool`: may be null if no parameter resides there.
  ParameterPort(const Program& program, const backend::Arena& arena, const backend::HostPool* pool);

  // The values in plain order. Valid until the next call.
  std::span<const std::byte> fetch(const ProgramParameter& parameter);
  // The same in the element type of the model's file. Throws TrainerError (invalid_model) if a number is too large for
  // it.
  std::span<const std::byte> fetch_as_in_file(const ProgramParameter& parameter);
  // A buffer for values in plain order. store() copies it to the parameter.
  std::span<std::byte> room(const ProgramParameter& parameter);
  void store(const ProgramParameter& parameter);

 private:
  void copy_out(const ProgramParameter& parameter, std::byte* to) const;
  void copy_in(const ProgramParameter& parameter, const std::byte* from) const;

  const backend::Arena& arena_;
  const backend::HostPool* const pool_;
  std::vector<std::byte> plain_, laid_out_, stored_;
};

// Reads a parameter's values from the model's file; `values` are those in memory, in plain order.
void read_from_file(const InputFile& file, const ProgramParameter& parameter, std::span<std::byte> values);

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
// another `init`; unreadable_input; invalid_model if the file is not the program's model.
void init_parameters(const Program& program, const std::string& init, const std::string& model_file,
                     ParameterPort& port);

// Writes the model with the weights and statistics of the arena, and `notes` at its end (model_notes.h). If its weights
// are in a second file, that one is written to the same directory, with a name derived from the name of `path`. Throws
// TrainerError (unwritable_output); an earlier file of that name then stays as it was.
void save_model(const Program& program, const std::string& model_file, const std::string& path, ParameterPort& port,
                const std::string& notes = {});

}  // namespace plimsoll::train
