// Reads our JSON files, which may come from any source, edited or truncated. The first error is kept with its location.
// After it, every read returns a harmless default, so a caller reads straight through and checks once at the end.
//
//   JsonReader read("plan.json", ExitCode::invalid_model, "make it again with `plimsoll plan`");
//   const Json document = read.parse(text);
//   const JsonReader::Place root = JsonReader::root(document);
//   plan.batch = read.integer(root, "batch", 1, most);     plan.json: batch is -3; expected at least 1
//   if (read.error()) return *read.error();
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/fields.h"
#include "compiler/support/json.h"
#include "compiler/support/status.h"

namespace plimsoll {

class JsonReader {
 public:
  // A place in the document. Its path is computed only for an error message.
  struct Place {
    const Json* json = nullptr;  // nullptr: absent
    const Place* parent = nullptr;
    const char* key = nullptr;  // key in an object; else `index` in an array
    size_t index = 0;
    std::string path() const;  // "steps[3].waits[0]"
  };

  // `what` names the text in errors; `way_out` is their note.
  JsonReader(std::string what, ExitCode code, std::string way_out)
      : what_(std::move(what)), code_(code), way_out_(std::move(way_out)) {}

  // Returns null if the text is not JSON, with an error that gives line, column and the text there.
  Json parse(std::string_view text);
  static Place root(const Json& document) { return {&document, nullptr, nullptr, 0}; }

  const std::optional<Error>& error() const { return error_; }
  void complain(const Place& place, const std::string& what);

  // An absent field reads as zero, so that older files stay readable. `need`: fields without a default.
  static Place field(const Place& object, const char* key);

  int64_t integer(const Place& place, int64_t least, int64_t most, bool need);
  int64_t integer(const Place& object, const char* key, int64_t least, int64_t most, bool need = true) {
    return integer(field(object, key), least, most, need);
  }
  int64_t bytes(const Place& object, const char* key, bool need = true) {
    return integer(object, key, 0, std::numeric_limits<int64_t>::max(), need);
  }
  double number(const Place& object, const char* key, const char* unit, bool need = false);
  double seconds(const Place& object, const char* key, bool need = false) {
    return number(object, key, "seconds", need);
  }
  bool flag(const Place& object, const char* key, bool need = false);
  std::string text(const Place& object, const char* key, bool need = false);
  void object(const Place& place);  // must be an object
  void schema(const Place& document, int64_t known);  // its field `schema` must have this number

  template <class Enum>
  Enum word(const Place& object, const char* key) {
    const std::string given = text(object, key, true);
    if (const std::optional<Enum> known = from_word<Enum>(given)) return *known;
    complain(field(object, key), "is '" + given + "'; expected one of " + known_words<Enum>());
    return {};
  }

  // Calls `each` for every element of an array.
  template <class Each>
  void array(const Place& place, bool need, Each each) {
    if (!is_array(place, need)) return;
    size_t i = 0;
    for (const Json& item : *place.json) {
      if (error_) return;
      each(Place{&item, &place, nullptr, i++});
    }
  }
  template <class Each>
  void array(const Place& object, const char* key, bool need, Each each) {
    const Place place = field(object, key);
    array(place, need, each);
  }

  template <class IdType>
  std::vector<IdType> ids(const Place& object, const char* key, int64_t count) {
    std::vector<IdType> list;
    array(object, key, false, [&](const Place& item) { list.push_back(IdType(integer(item, 0, count - 1, true))); });
    return list;
  }

  // The string fields of an object, by name.
  std::map<std::string, std::string> texts(const Place& place);

 private:
  bool is_there(const Place& place, bool need);
  bool is_array(const Place& place, bool need);
  void fail(std::string complaint);

  std::string what_;
  ExitCode code_;
  std::string way_out_;
  std::optional<Error> error_;
};

}  // namespace plimsoll
