#include "runtime/train/parameters.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/reduced_state.h"
#include "runtime/train/counted.h"
#include "runtime/train/error.h"
#include "runtime/train/initial.h"
#include "runtime/train/layout.h"
#include "runtime/train/model_files.h"

namespace plimsoll::train {
namespace {

float* floats(std::vector<std::byte>& bytes) { return reinterpret_cast<float*>(bytes.data()); }

// The text of an existing skeleton at `path`; "" if there is none, or a file too large for one.
std::string skeleton_at(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{256} << 20;
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none) || std::filesystem::file_size(path, none) > kLargest) return {};
  return read_text(InputFile(path));
}

// Writes the first `bytes` of the file with the arena's values of the parameters, then `notes`.
void write_with_parameters(const InputFile& from, int64_t bytes, const std::string& path, const Program& program,
                           ParameterPort& port, const std::string& notes) {
  OutputFile out(path);
  constexpr int64_t kPiece = int64_t{4} << 20;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(kPiece, bytes)));
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const int64_t count = std::min(kPiece, bytes - at);
    from.read(at, piece.data(), count);
    out.write(at, piece.data(), count);
  }
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.file_offset < 0) continue;
    const std::span<const std::byte> values = port.fetch_as_in_file(parameter);
    out.write(parameter.file_offset, values.data(), static_cast<int64_t>(values.size()));
  }
  if (!notes.empty())
    out.write(bytes, reinterpret_cast<const std::byte*>(notes.data()), static_cast<int64_t>(notes.size()));
  out.commit();
}

uint64_t he_seed(const std::string& init) {
  uint64_t seed = 0;
  const char *begin = init.data() + 3, *end = init.data() + init.size();
  const auto [stopped, error] = std::from_chars(begin, end, seed);
  if (error != std::errc() || stopped != end)
    throw TrainerError(Exit::usage, "--init takes file or he:SEED with a number, not '" + init + "'");
  return seed;
}

}  // namespace

ParameterPort::ParameterPort(const Program& program, const backend::Arena& arena, const backend::HostPool* pool)
    : arena_(arena), pool_(pool) {
  int64_t plain = 0, laid_out = 0, stored = 0;
  for (const ProgramParameter& parameter : program.parameters) {
    const TensorDesc& desc = parameter.desc;
    plain = std::max(plain, parameter.in_files().bytes());
    laid_out = std::max(laid_out, is_reduced(desc.type) ? 4 * desc.padded_elements() : desc.bytes());
    if (is_reduced(desc.type)) stored = std::max(stored, desc.bytes());
  }
  plain_.resize(static_cast<size_t>(plain));
  laid_out_.resize(static_cast<size_t>(laid_out));
  stored_.resize(static_cast<size_t>(stored));
}

// The host pool is host memory or a file.
void ParameterPort::copy_out(const ProgramParameter& parameter, std::byte* to) const {
  const int64_t bytes = parameter.desc.bytes();
  if (!parameter.in_host_pool) backend::copy_out(nullptr, to, arena_.data() + parameter.offset, bytes);
  else if (const std::byte* const memory = pool_->data())
    std::memcpy(to, memory + parameter.offset, static_cast<size_t>(bytes));
  else pool_->fetch(parameter.offset, to, bytes);
}

void ParameterPort::copy_in(const ProgramParameter& parameter, const std::byte* from) const {
  const int64_t bytes = parameter.desc.bytes();
  if (!parameter.in_host_pool) backend::copy_in(nullptr, arena_.data() + parameter.offset, from, bytes);
  else if (std::byte* const memory = pool_->data())
    std::memcpy(memory + parameter.offset, from, static_cast<size_t>(bytes));
  else pool_->store(parameter.offset, from, bytes);
}

std::span<const std::byte> ParameterPort::fetch(const ProgramParameter& parameter) {
  const TensorDesc& desc = parameter.desc;
  const bool plain = desc.layout == Layout::plain;
  std::vector<std::byte>& there = plain ? plain_ : laid_out_;
  if (is_reduced(desc.type)) {
    copy_out(parameter, stored_.data());
    reduced::to_f32(desc.type, stored_.data(), desc.padded_elements(), floats(there));
  } else {
    copy_out(parameter, there.data());
  }
  if (!plain) to_plain(desc, floats(laid_out_), floats(plain_));
  return std::span(plain_).first(static_cast<size_t>(parameter.in_files().bytes()));
}

std::span<const std::byte> ParameterPort::fetch_as_in_file(const ProgramParameter& parameter) {
  const std::span<const std::byte> values = fetch(parameter);
  if (parameter.file_type == FileType::same) return values;
  if (const std::optional<float> large = too_large_for(parameter.file_type, values))
    throw TrainerError(Exit::invalid_model,
                       "'" + std::string(parameter.name) + "' holds " + std::to_string(*large) +
                           ", and the model's file has it in f16, which ends at 65504: the model is not saved. A "
                           "checkpoint has it in f32 (--checkpoint)");
  const std::span<std::byte> in_file = room(parameter).first(static_cast<size_t>(parameter.bytes_in_file()));
  narrow(parameter.file_type, values, in_file);  // in place
  return in_file;
}

std::span<std::byte> ParameterPort::room(const ProgramParameter& parameter) {
  return std::span(plain_).first(static_cast<size_t>(parameter.in_files().bytes()));
}

void ParameterPort::store(const ProgramParameter& parameter) {
  const TensorDesc& desc = parameter.desc;
  const bool plain = desc.layout == Layout::plain;
  if (!plain) to_blocked(desc, floats(plain_), floats(laid_out_));
  std::vector<std::byte>& there = plain ? plain_ : laid_out_;
  if (is_reduced(desc.type)) reduced::from_f32(desc.type, floats(there), desc.padded_elements(), stored_.data());
  copy_in(parameter, is_reduced(desc.type) ? stored_.data() : there.data());
  backend::finish(nullptr);  // the buffers are reused
}

void read_from_file(const InputFile& file, const ProgramParameter& parameter, std::span<std::byte> values) {
  file.read(parameter.file_offset, values.data(), parameter.bytes_in_file());
  if (parameter.file_type == FileType::same) return;
  widen(parameter.file_type, values.first(static_cast<size_t>(parameter.bytes_in_file())), values);  // in place
}

Statistics::Statistics(const Program& program, const backend::Arena& arena) {
  for (const ProgramParameter& parameter : program.parameters)
    if (parameter.role == ParameterRole::statistic)
      copies_.push_back(
          {arena.data() + parameter.offset, std::vector<std::byte>(static_cast<size_t>(parameter.desc.bytes()))});
}

void Statistics::keep() {
  for (Copy& copy : copies_)
    backend::copy_out(nullptr, copy.bytes.data(), copy.at, static_cast<int64_t>(copy.bytes.size()));
}

void Statistics::restore() {
  for (const Copy& copy : copies_)
    backend::copy_in(nullptr, copy.at, copy.bytes.data(), static_cast<int64_t>(copy.bytes.size()));
  backend::finish(nullptr);
}

const ProgramParameter* find_bad_parameter(const Program& program, ParameterPort& port) {
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.in_files().type != DataType::f32 || parameter.role == ParameterRole::frozen) continue;
    const std::span<const std::byte> values = port.fetch(parameter);
    const float* const x = reinterpret_cast<const float*>(values.data());
    if (!std::all_of(x, x + values.size() / sizeof(float), [](float value) { return std::isfinite(value); }))
      return &parameter;
  }
  return nullptr;
}

void refuse_bad_parameters(const Program& program, ParameterPort& port) {
  if (const ProgramParameter* const bad = find_bad_parameter(program, port))
    throw TrainerError(Exit::invalid_model, "'" + std::string(bad->name) +
                                                "' holds NaN or infinite numbers before training begins; --on-nan "
                                                "ignore trains all the same");
}

void refuse_bad_results(const Program& program, ParameterPort& port, int64_t iterations) {
  if (const ProgramParameter* const bad = find_bad_parameter(program, port))
    throw TrainerError(Exit::invalid_model,
                       "after " + counted(iterations, "iteration") + " '" + bad->name +
                           "' holds NaN or infinity, and nothing is saved: " +
                           (bad->role == ParameterRole::statistic ? "activations" : "its gradient") +
                           " overflowed. Lower --lr, or clip with `plimsoll compile --clip-norm`");
}

void init_parameters(const Program& program, const std::string& init, const std::string& model_file,
                     ParameterPort& port) {
  const bool he = init.rfind("he:", 0) == 0;
  if (!he && init != "file")
    throw TrainerError(Exit::usage, "--init takes file or he:SEED, not '" + init + "'");
  const uint64_t seed = he ? he_seed(init) : 0;
  if (program.model_bytes == 0) return;  // every parameter starts at zero
  const InputFile file = open_weights(program, model_file);
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.file_offset < 0) continue;
    const TensorDesc& desc = parameter.desc;
    const std::span<std::byte> values = port.room(parameter);
    if (he && parameter.role == ParameterRole::trained && desc.rank() >= 2 && desc.type == DataType::f32)
      draw_he(parameter.name, desc, seed, reinterpret_cast<float*>(values.data()));
    else
      read_from_file(file, parameter, values);
    port.store(parameter);
  }
}

// Writes the weights file first, so that a skeleton at `path` always has its weights. A model that is replaced keeps
// its own weights until the new skeleton has its name. So there are two possible names for the weights, used in turn.
void save_model(const Program& program, const std::string& model_file, const std::string& path, ParameterPort& port,
                const std::string& notes) {
  const InputFile weights = open_weights(program, model_file);
  if (program.weights_bytes == 0)
    return write_with_parameters(weights, program.model_bytes, path, program, port, notes);
  const InputFile model = open_model(program, model_file);
  const std::string given = read_skeleton(program, model), old_name = weights_named_in(model, given),
                    there = skeleton_at(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path(),
                              file = std::filesystem::path(path).filename();
  std::string name = weights_named_for(file.string()), other = weights_named_for(file.string() + " ");
  std::string skeleton = with_weights_in(given, old_name, name);
  if (!there.starts_with(skeleton) && there.find(name) != std::string::npos) {
    std::swap(name, other);
    skeleton = with_weights_in(given, old_name, name);
  }
  write_with_parameters(weights, program.weights_bytes, (folder / name).string(), program, port, "");
  skeleton += notes;
  OutputFile out(path);
  out.write(0, reinterpret_cast<const std::byte*>(skeleton.data()), static_cast<int64_t>(skeleton.size()));
  out.commit();
  ::unlink((folder / other).c_str());
}

}  // namespace plimsoll::train
