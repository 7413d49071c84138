#include "runtime/train/model_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/train/error.h"
#include "runtime/train/model_notes.h"
#include "runtime/train/sha256.h"

namespace plimsoll::train {
namespace {

constexpr std::string_view kSuffix = ".weights";
constexpr size_t kDigits = 16;

bool has_notes_behind(const InputFile& file, int64_t bytes) {
  constexpr int64_t kMostNotes = int64_t{16} << 20;
  if (file.bytes() <= bytes || file.bytes() - bytes > kMostNotes) return false;
  std::string rest(static_cast<size_t>(file.bytes() - bytes), '\0');
  file.read(bytes, reinterpret_cast<std::byte*>(rest.data()), static_cast<int64_t>(rest.size()));
  return parsed_notes(rest).has_value();
}

InputFile open_of_size(const std::string& path, int64_t bytes, const std::string& hint) {
  InputFile file(path);
  if (file.bytes() != bytes && !has_notes_behind(file, bytes))
    throw TrainerError(Exit::invalid_model, "'" + path + "' has " + std::to_string(file.bytes()) + " bytes, but " +
                                                hint + " that this trainer was made with has " + std::to_string(bytes) +
                                                "; --model says where that one is");
  return file;
}

// Adds the first `bytes` of the file, except for the parameters' values.
void add_around_parameters(const Program& program, const InputFile& file, int64_t bytes, Sha256& sum) {
  std::vector<std::pair<int64_t, int64_t>> values;  // [begin, end)
  for (const ProgramParameter& parameter : program.parameters)
    if (parameter.file_offset >= 0)
      values.emplace_back(parameter.file_offset, parameter.file_offset + parameter.bytes_in_file());
  values.emplace_back(bytes, bytes);
  std::sort(values.begin(), values.end());
  std::vector<std::byte> piece(size_t{1} << 16);
  int64_t at = 0;
  for (const auto& [begin, end] : values) {
    while (at < begin) {
      const int64_t count = std::min(begin - at, static_cast<int64_t>(piece.size()));
      file.read(at, piece.data(), count);
      sum.add(piece.data(), count);
      at += count;
    }
    at = std::max(at, end);
  }
}

// `skeleton`: null for a model of one file. The name of the weights file is hashed as zeros, because --save changes it.
void check_identity(const Program& program, const InputFile* skeleton, const InputFile& weights,
                    const std::string& model_file) {
  if (std::string_view(program.model_identity).empty()) return;  // the program was compiled without a model file
  Sha256 sum;
  if (skeleton != nullptr) {
    const std::string text = read_skeleton(program, *skeleton), name = weights_named_in(*skeleton, text);
    const std::string without = with_weights_in(text, name, std::string(name.size(), '0'));
    sum.add(reinterpret_cast<const std::byte*>(without.data()), static_cast<int64_t>(without.size()));
  }
  add_around_parameters(program, weights, skeleton ? program.weights_bytes : program.model_bytes, sum);
  if (sum.hex() == program.model_identity) return;
  throw TrainerError(Exit::invalid_model,
                     "'" + model_file +
                         "' is not the model that this trainer was made with: it has the same size, but differs in "
                         "more than the weights' values; name the right one with --model, or compile this one");
}

}  // namespace

InputFile open_model(const Program& program, const std::string& path) {
  return open_of_size(path, program.model_bytes, "the model");
}

std::string read_text(const InputFile& file) {
  std::string text(static_cast<size_t>(file.bytes()), '\0');
  file.read(0, reinterpret_cast<std::byte*>(text.data()), file.bytes());
  return text;
}

std::string read_skeleton(const Program& program, const InputFile& file) {
  return read_text(file).substr(0, static_cast<size_t>(program.model_bytes));
}

std::string weights_named_in(const InputFile& skeleton, const std::string& text) {
  for (size_t at = text.find(kSuffix); at != std::string::npos; at = text.find(kSuffix, at + 1))
    if (at >= kDigits && text.find_first_not_of("0123456789abcdef", at - kDigits) >= at)
      return text.substr(at - kDigits, kDigits + kSuffix.size());
  throw TrainerError(Exit::invalid_model, "'" + skeleton.path() + "' does not name its file of weights");
}

std::string weights_named_for(const std::string& name) {
  Sha256 sum;
  sum.add(reinterpret_cast<const std::byte*>(name.data()), static_cast<int64_t>(name.size()));
  return sum.hex().substr(0, kDigits) + std::string(kSuffix);
}

std::string with_weights_in(std::string skeleton, const std::string& old_name, const std::string& name) {
  for (size_t at = skeleton.find(old_name); at != std::string::npos; at = skeleton.find(old_name, at + name.size()))
    skeleton.replace(at, old_name.size(), name);
  return skeleton;
}

InputFile open_weights(const Program& program, const std::string& model_file) {
  InputFile model = open_model(program, model_file);
  if (program.weights_bytes == 0) {
    check_identity(program, nullptr, model, model_file);
    return model;
  }
  const std::string path =
      (std::filesystem::path(model_file).parent_path() / weights_named_in(model, read_text(model))).string();
  InputFile weights = open_of_size(path, program.weights_bytes, "the file of the weights");
  check_identity(program, &model, weights, model_file);
  return weights;
}

}  // namespace plimsoll::train
