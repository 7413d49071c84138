#include "runtime/train/parameters.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/train/error.h"
#include "runtime/train/initial.h"
#include "runtime/train/layout.h"

namespace plimsoll::train {
namespace {

std::vector<std::byte> buffer(int64_t bytes) { return std::vector<std::byte>(static_cast<size_t>(bytes)); }
float* floats(std::vector<std::byte>& bytes) { return reinterpret_cast<float*>(bytes.data()); }

InputFile open_model(const Program& program, const std::string& path) {
  InputFile file(path);
  if (file.bytes() != program.model_bytes)
    throw TrainerError(Exit::invalid_model, "'" + path + "' has " + std::to_string(file.bytes()) +
                                                " bytes when the model that this trainer was made with has " +
                                                std::to_string(program.model_bytes) +
                                                "; --model says where that one is");
  return file;
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

void init_parameters(const Program& program, const std::string& init, const std::string& model_file,
                     const backend::Arena& arena) {
  const bool he = init.rfind("he:", 0) == 0;
  if (!he && init != "file")
    throw TrainerError(Exit::usage, "--init takes file or he:SEED, not '" + init + "'");
  const uint64_t seed = he ? he_seed(init) : 0;
  if (program.model_bytes == 0) return;  // every parameter starts at zero
  const InputFile file = open_model(program, model_file);
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.file_offset < 0) continue;
    const TensorDesc& desc = parameter.desc;
    std::vector<std::byte> plain = buffer(desc.elements() * bytes_of(desc.type));
    if (he && parameter.trained && desc.rank() >= 2 && desc.type == DataType::f32)
      draw_he(parameter.name, desc, seed, floats(plain));
    else
      file.read(parameter.file_offset, plain.data(), static_cast<int64_t>(plain.size()));
    if (desc.layout != Layout::plain) {
      std::vector<std::byte> blocked = buffer(desc.bytes());
      to_blocked(desc, floats(plain), floats(blocked));
      plain.swap(blocked);
    }
    backend::copy_in(nullptr, arena.data() + parameter.offset, plain.data(), static_cast<int64_t>(plain.size()));
  }
  backend::finish(nullptr);
}

void save_model(const Program& program, const std::string& model_file, const std::string& path,
                const backend::Arena& arena) {
  const InputFile model = open_model(program, model_file);
  OutputFile out(path);
  constexpr int64_t kPiece = int64_t{4} << 20;
  std::vector<std::byte> piece = buffer(std::min(kPiece, program.model_bytes));
  for (int64_t at = 0; at < program.model_bytes; at += kPiece) {
    const int64_t bytes = std::min(kPiece, program.model_bytes - at);
    model.read(at, piece.data(), bytes);
    out.write(at, piece.data(), bytes);
  }
  for (const ProgramParameter& parameter : program.parameters) {
    if (parameter.file_offset < 0) continue;
    const TensorDesc& desc = parameter.desc;
    std::vector<std::byte> values = buffer(desc.bytes());
    backend::copy_out(nullptr, values.data(), arena.data() + parameter.offset, desc.bytes());
    if (desc.layout != Layout::plain) {
      std::vector<std::byte> plain = buffer(desc.elements() * bytes_of(desc.type));
      to_plain(desc, floats(values), floats(plain));
      values.swap(plain);
    }
    out.write(parameter.file_offset, values.data(), static_cast<int64_t>(values.size()));
  }
  out.commit();
}

}  // namespace plimsoll::train
