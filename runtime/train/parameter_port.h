// Reads and writes parameters in the arena (or host pool), piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"

namespace plimsoll::train {

// Converts between the plain order of files and the layouts of the arena, optimizer state that is stored in fewer bytes
// to f32 and back (runtime/reduced_state.h), and weights in two halves (runtime/split_weight.h). Its buffers hold a
// piece of a parameter, so that no second copy of a large weight is in memory, and a save during a run allocates
// nothing. Pieces are the same on every rank.
class ParameterPort {
 public:
  // `at`: where the piece begins, in bytes from the parameter's first value, in plain order and in the type of
  // ProgramParameter::in_files(). Pieces come in order; `values` are valid during the call.
  using See = std::function<void(int64_t at, std::span<const std::byte> values)>;
  using Fill = std::function<void(int64_t at, std::span<std::byte> values)>;
  // The same for a parameter of the model's file.
  using FromFile = std::function<void(const ProgramParameter& parameter, int64_t at, std::span<std::byte> values)>;

  // `pool`: may be null if no parameter resides there.
  ParameterPort(const Program& program, const backend::Arena& arena, const backend::HostPool* pool);

  // From now on, rounded parameters are read from the file, which has all of their bits.
  void read_rounded(FromFile from_file) { from_file_ = std::move(from_file); }
  void read(const ProgramParameter& parameter, const See& see);
  // The same in the element type of the model's file; `at` counts its bytes. Throws TrainerError (invalid_model) if a
  // number is too large for it.
  void read_as_in_file(const ProgramParameter& parameter, const See& see);
  // `fill` writes all values.
  void write(const ProgramParameter& parameter, const Fill& fill);
  // `change` sees the present values.
  void update(const ProgramParameter& parameter, const Fill& change);

 private:
  struct Piece;
  void fetch(const ProgramParameter& parameter, const Piece& piece);
  void store(const ProgramParameter& parameter, const Piece& piece);
  void copy_from(bool in_host_pool, int64_t from, std::byte* to, int64_t bytes);
  void copy_to(bool in_host_pool, int64_t to, const std::byte* from, int64_t bytes);

  const backend::Arena& arena_;
  const backend::HostPool* const pool_;
  FromFile from_file_;
  std::vector<std::byte> plain_, laid_out_, stored_;
};

}  // namespace plimsoll::train
