// Shared by the text forms of task graph and plan. Private to compiler/ir/.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/ir/fields.h"
#include "compiler/ir/names.h"
#include "compiler/support/text_cursor.h"

namespace plimsoll {

// The names defined so far.
template <class IdType>
class Names {
 public:
  explicit Names(const char* what) : what_(what) {}

  void add(TextCursor& cursor, const std::string& name, IdType id) {
    if (!ids_.emplace(name, id).second) cursor.fail(std::string("there is a ") + what_ + " '" + name + "' already");
  }
  IdType find(TextCursor& cursor, const std::string& name) const {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    cursor.fail(std::string("there is no ") + what_ + " '" + name + "' above");
    return {};
  }

 private:
  const char* what_;
  std::unordered_map<std::string, IdType> ids_;
};

// " key=value"; empty for an empty value.
inline std::string option(const char* key, std::string_view value) {
  return value.empty() ? "" : fmt::format(" {}={}", key, spelled(value));
}

// " attention="fused"", for each part.
inline std::string options_of(const FormsOfParts& forms) {
  std::string text;
  for (const auto& [part, form] : forms) text += option(part.c_str(), form);
  return text;
}

inline FormsOfParts read_forms(TextCursor& cursor) {
  FormsOfParts forms;
  for (const std::string_view part : kPartsWithForms)
    if (cursor.accept(std::string(part) + "=")) forms[std::string(part)] = cursor.name();
  return forms;
}

inline TensorId read_tensor(TextCursor& cursor, const Names<TensorId>& tensors) {
  cursor.expect("%");
  const std::string name = cursor.name();
  return cursor.error() ? TensorId{} : tensors.find(cursor, name);
}

template <class Enum>
Enum read_word(TextCursor& cursor) {
  const std::string word = cursor.word();
  if (cursor.error()) return {};
  if (const std::optional<Enum> known = from_word<Enum>(word)) return *known;
  cursor.fail("'" + word + "'; expected one of " + known_words<Enum>());
  return {};
}

inline int64_t read_count(TextCursor& cursor, int64_t least, int64_t most = std::numeric_limits<int64_t>::max()) {
  const int64_t value = cursor.integer();
  if (!cursor.error() && value > most) {
    cursor.fail("the preceding number must be at most " + std::to_string(most));
    return least;
  }
  if (!cursor.error() && value < least) cursor.fail("the preceding number must be at least " + std::to_string(least));
  return value;
}

}  // namespace plimsoll
