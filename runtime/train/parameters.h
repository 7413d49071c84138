// Weights, statistics and optimizer state on their way between the arena, or the host pool, and files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

// Values in files are plain; in the arena they lie as their layout says. Has room for the largest parameter from the
// beginning, so that a save in the middle of a run allocates nothing.
class ParameterPort {
 public:
  // `pool` may be null where nothing lives there.
  ParameterPort(const Program& program, const backend::Arena& arena, const backend::HostPool* pool);

  // The values, in plain order; until the next call.
  std::span<const std::byte> fetch(const ProgramParameter& parameter);
  // Room for values in plain order; store() brings what was put there to where the parameter lives.
  std::span<std::byte> room(const ProgramParameter& parameter);
  void store(const ProgramParameter& parameter);

 private:
  void copy_out(const ProgramParameter& parameter, std::byte* to) const;
  void copy_in(const ProgramParameter& parameter, const std::byte* from) const;

  const backend::Arena& arena_;
  const backend::HostPool* const pool_;
  std::vector<std::byte> plain_, laid_out_;
};

// A copy of the running statistics, to be brought back when the samples that moved them turn out to be bad.
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

// The first weight, statistic or state that holds what is no finite number; nullptr: there is none.
const ProgramParameter* find_bad_parameter(const Program& program, ParameterPort& port);

// Throws TrainerError (invalid_model) where there is one: such a model trains to nothing, and is not what its user thinks.
void refuse_bad_parameters(const Program& program, ParameterPort& port);

// `init` is "file" or "he:SEED". Before: the arena is zero, as optimizer state must be.
// Throws TrainerError: usage for another `init`, unreadable_input, invalid_model when the file is not the program's.
void init_parameters(const Program& program, const std::string& init, const std::string& model_file, ParameterPort& port);

// `notes` go behind the model (model_notes.h).
// Writes the model with the arena's weights and statistics in place of its own; where they lie in a file beside it, that
// file is written beside `path` too, under a name that follows from the name of `path`. Throws TrainerError
// (unwritable_output); then there is no file of that name, or the old one as it was.
void save_model(const Program& program, const std::string& model_file, const std::string& path, ParameterPort& port,
                const std::string& notes = {});

}  // namespace plimsoll::train
