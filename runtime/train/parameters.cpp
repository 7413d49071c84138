#include "runtime/train/parameters.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/train/counted.h"
#include "runtime/train/error.h"
#include "runtime/train/initial.h"
#include "runtime/train/model_files.h"

namespace plimsoll::train {
namespace {

std::span<float> floats_in(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

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
    if (parameter.file_offset < 0 || parameter.is_rounded()) continue;
    port.read_as_in_file(parameter, [&](int64_t at, std::span<const std::byte> values) {
      out.write(parameter.file_offset + at, values.data(), static_cast<int64_t>(values.size()));
    });
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

void read_from_file(const InputFile& file, const ProgramParameter& parameter, int64_t at, std::span<std::byte> values) {
  const FileType type = parameter.file_type;
  const int64_t bytes = bytes_in_file(type, static_cast<int64_t>(values.size()));
  file.read(parameter.file_offset + bytes_in_file(type, at), values.data(), bytes);
  if (type != FileType::same) widen(type, values.first(static_cast<size_t>(bytes)), values);  // in place
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
    bool finite = true;
    port.read(parameter, [&](int64_t, std::span<const std::byte> values) {
      const auto* const x = reinterpret_cast<const float*>(values.data());
      const auto* const end = x + values.size() / sizeof(float);
      finite = finite && std::all_of(x, end, [](float one) { return std::isfinite(one); });
    });
    if (!finite) return &parameter;
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
  const auto file = std::make_shared<const InputFile>(open_weights(program, model_file));
  port.read_rounded([file](const ProgramParameter& parameter, int64_t at, std::span<std::byte> values) {
    read_from_file(*file, parameter, at, values);
  });
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.file_offset < 0) continue;
    const TensorDesc& desc = parameter.desc;
    const bool drawn = he && parameter.role == ParameterRole::trained && desc.rank() >= 2 &&
                       parameter.in_files().type == DataType::f32;
    port.write(parameter, [&](int64_t at, std::span<std::byte> values) {
      if (drawn) draw_he(parameter.name, desc, seed, at / bytes_of(DataType::f32), floats_in(values));
      else read_from_file(*file, parameter, at, values);
    });
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
