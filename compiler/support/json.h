#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// JSON is parsed and written only here: every other file that did so took three seconds longer to compile.
namespace plimsoll {

using Json = nlohmann::ordered_json;

// Throws Json::parse_error, with the byte offset, or Json::exception for a number out of range.
Json parse_json(std::string_view text);

// Null if it is not JSON.
Json json_or_null(std::string_view text);

// On one line, or indented by `indent`. Names may hold any bytes: invalid UTF-8 is replaced, not refused.
std::string dump(const Json& json, int indent = -1);

// Appends JSON to a text, value by value, without a document in memory. Writes the same bytes as dump() on one line.
class JsonText {
 public:
  explicit JsonText(std::string& text) : text_(text) {}

  JsonText& begin_object() { return begin('{'); }
  JsonText& end_object() { return end('}'); }
  JsonText& begin_array() { return begin('['); }
  JsonText& end_array() { return end(']'); }
  // The name of the next value; only names that need no escapes.
  JsonText& key(std::string_view name);
  JsonText& value(int64_t number);
  JsonText& value(int32_t number) { return value(int64_t{number}); }
  JsonText& value(double number);
  JsonText& value(bool flag);
  JsonText& value(std::string_view text);
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  template <class T>
  JsonText& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

 private:
  JsonText& begin(char bracket);
  JsonText& end(char bracket);
  void separate();

  std::string& text_;
  bool first_ = true;  // nothing is before the next value in its array or object
};

}  // namespace plimsoll
