#include "runtime/train/model_notes.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "runtime/train/model_files.h"

namespace plimsoll::train {
namespace {

constexpr std::string_view kOurs = "plimsoll.trained.";  // also in compiler/import/model_file.cpp

// Of onnx.proto: ModelProto.metadata_props = 14, StringStringEntryProto.key = 1 and .value = 2, all with a length in
// front.
constexpr unsigned char kEntryTag = 14 << 3 | 2, kKeyTag = 1 << 3 | 2, kValueTag = 2 << 3 | 2;

std::string field(unsigned char tag, std::string_view bytes) {
  std::string text(1, static_cast<char>(tag));
  size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) text += static_cast<char>((length & 0x7f) | 0x80);
  text += static_cast<char>(length);
  return text.append(bytes);
}

// Takes a field off the front of `bytes`; nothing where another tag, or too little, stands there.
std::optional<std::string_view> take_field(unsigned char tag, std::string_view& bytes) {
  if (bytes.empty() || static_cast<unsigned char>(bytes[0]) != tag) return std::nullopt;
  size_t length = 0, at = 1;
  for (unsigned shift = 0;; shift += 7) {
    if (at >= bytes.size() || shift > 35) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    length |= static_cast<size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (length > bytes.size() - at) return std::nullopt;
  const std::string_view contents = bytes.substr(at, length);
  bytes.remove_prefix(at + length);
  return contents;
}

std::string as_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

std::string serialized(const ModelNotes& notes) {
  std::string all;
  for (const auto& [key, value] : notes)
    all += field(kEntryTag, field(kKeyTag, std::string(kOurs) + key) + field(kValueTag, value));
  return all;
}

std::optional<ModelNotes> parsed_notes(std::string_view bytes) {
  ModelNotes notes;
  while (!bytes.empty()) {
    std::optional<std::string_view> entry = take_field(kEntryTag, bytes);
    if (!entry) return std::nullopt;
    const std::optional<std::string_view> key = take_field(kKeyTag, *entry), value = take_field(kValueTag, *entry);
    if (!key || !value || !entry->empty() || !key->starts_with(kOurs)) return std::nullopt;
    notes.emplace_back(key->substr(kOurs.size()), *value);
  }
  return notes;
}

ModelNotes notes_of_run(const Dataset& training, const Evaluation& evaluation, int64_t iteration) {
  ModelNotes notes = training.preparation;
  if (!training.classes.empty()) {
    std::string names;
    for (std::string name : training.classes) {
      std::replace(name.begin(), name.end(), '\n', ' ');
      names += (names.empty() ? "" : "\n") + name;
    }
    notes.emplace_back("classes", names);
  }
  if (evaluation.samples == 0) return notes;
  notes.emplace_back("iterations", std::to_string(iteration));
  notes.emplace_back("eval_samples", std::to_string(evaluation.samples));
  notes.emplace_back("eval_loss", as_text(evaluation.loss));
  if (evaluation.accuracy >= 0) notes.emplace_back("eval_accuracy", as_text(evaluation.accuracy));
  return notes;
}

std::string_view note(const ModelNotes& notes, std::string_view key) {
  for (const auto& [name, value] : notes)
    if (name == key) return value;
  return {};
}

ModelNotes read_notes(const Program& program, const std::string& model_file) {
  const InputFile file = open_model(program, model_file);
  std::string bytes(static_cast<size_t>(file.bytes() - program.model_bytes), '\0');
  file.read(program.model_bytes, reinterpret_cast<std::byte*>(bytes.data()), static_cast<int64_t>(bytes.size()));
  return parsed_notes(bytes).value_or(ModelNotes{});
}

std::vector<std::string> class_names(const ModelNotes& notes) {
  const std::string_view all = note(notes, "classes");
  std::vector<std::string> names;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    names.emplace_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace plimsoll::train
