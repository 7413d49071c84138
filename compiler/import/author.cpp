#include "compiler/import/author.h"

#include <fmt/format.h>

#include "compiler/support/json.h"

namespace plimsoll {
namespace {

constexpr const char* kKey = "plimsoll.export";
constexpr int64_t kSchema = 1;

Error invalid(const std::string& what) {
  return {ExitCode::invalid_model, fmt::format("the model's metadata entry '{}' {}", kKey, what),
          {"export the model again with plimsoll.export"}};
}

}  // namespace

Result<std::optional<AuthorNotes>> author_notes_of(const onnx::ModelProto& model) {
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() != kKey) continue;
    const Json json = json_or_null(entry.value());
    if (!json.is_object() || !json.contains("schema") || !json["schema"].is_number_integer())
      return invalid("is not a JSON object with a schema");
    if (const Json& schema = json["schema"]; schema != kSchema)
      return Error{ExitCode::unsupported,
                   fmt::format("the model's metadata entry '{}' has schema {}; this compiler reads schema {}", kKey,
                               dump(schema), kSchema),
                   {"use a compiler of the same version as the Python package, or export with an older package"}};
    AuthorNotes notes;
    if (!json.contains("trained") || !json["trained"].is_array())
      return invalid("does not list the trained parameters");
    for (const Json& name : json["trained"]) {
      if (!name.is_string()) return invalid("lists a trained parameter whose name is not a string");
      notes.trained.insert(name.get<std::string>());
    }
    const auto add_names = [&](const char* key, std::unordered_set<std::string>& to) {
      if (json.contains(key) && json[key].is_array())
        for (const Json& name : json[key])
          if (name.is_string()) to.insert(name.get<std::string>());
    };
    add_names("frozen", notes.frozen);
    add_names("buffers", notes.buffers);
    add_names("detached", notes.detached);
    if (json.contains("padding") && json["padding"].is_object())
      for (const auto& [name, row] : json["padding"].items())
        if (row.is_number_integer()) notes.padding.emplace(name, row.get<int64_t>());
    notes.modes_are_stated = json.contains("modes") && json["modes"] == "stated";
    return std::optional(std::move(notes));
  }
  return std::optional<AuthorNotes>();
}

}  // namespace plimsoll
