#include "compiler/ir/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

// The maximum nesting of brackets outside strings. The parser needs no stack for it, but our own files have at most
// five levels.
constexpr int kMaxDepth = 64;

bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// A syntax error at byte `at`, counted from 0: "line 3, column 7: 'x' should not be there".
std::string stumble(std::string_view text, size_t at) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "it is empty";
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  std::string what = "it ends there; is it truncated?";
  if (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    what = c >= ' ' && c < 0x7f ? fmt::format("unexpected '{}'", static_cast<char>(c))
                                : fmt::format("unexpected byte 0x{:02x}", c);
  }
  return fmt::format("line {}, column {}: {}", line, at - line_begin + 1, what);
}

std::string shown(const Json& json) {
  if (json.is_structured()) return json.is_array() ? "an array" : "an object";
  const std::string text = dump(json);
  return text.size() <= 40 ? text : text.substr(0, 40) + "…";
}

}  // namespace

std::string JsonReader::Place::path() const {
  if (!parent) return "";
  const std::string before = parent->path();
  if (!key) return fmt::format("{}[{}]", before, index);
  return before.empty() ? key : fmt::format("{}.{}", before, key);
}

void JsonReader::fail(std::string complaint) {
  if (!error_) error_ = Error{code_, what_ + ": " + std::move(complaint), {way_out_}};
}

Json JsonReader::parse(std::string_view text) {
  if (too_deep(text)) {
    fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    return {};
  }
  try {
    return parse_json(text);
  } catch (const Json::parse_error& failure) {
    fail("is not JSON: " + stumble(text, failure.byte == 0 ? 0 : failure.byte - 1));
  } catch (const Json::exception&) {
    fail("contains a number outside the range of every type");
  }
  return {};
}

void JsonReader::complain(const Place& place, const std::string& what) {
  if (error_) return;
  const std::string path = place.path();
  fail(path + (path.empty() ? "" : " ") + what);
}

JsonReader::Place JsonReader::field(const Place& object, const char* key) {
  Place place{nullptr, &object, key, 0};
  if (!object.json || !object.json->is_object()) return place;
  const auto found = object.json->find(key);
  if (found != object.json->end()) place.json = &*found;
  return place;
}

bool JsonReader::is_there(const Place& place, bool need) {
  if (!place.json && need) complain(place, "is missing");
  return place.json != nullptr;
}

bool JsonReader::is_array(const Place& place, bool need) {
  if (!is_there(place, need)) return false;
  if (!place.json->is_array()) complain(place, fmt::format("is {}; expected an array", shown(*place.json)));
  return place.json->is_array();
}

void JsonReader::object(const Place& place) {
  if (is_there(place, true) && !place.json->is_object())
    complain(place, fmt::format("is {}; expected an object", shown(*place.json)));
}

void JsonReader::schema(const Place& document, int64_t known) {
  const int64_t found = integer(document, "schema", 0, std::numeric_limits<int32_t>::max());
  if (found != known)
    complain(field(document, "schema"),
             fmt::format("is {}, but only {} is supported; use the version of plimsoll that wrote it", found, known));
}

int64_t JsonReader::integer(const Place& place, int64_t least, int64_t most, bool need) {
  if (!is_there(place, need)) return least;
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  // Unsigned numbers of 2^63 and above would become negative in get<int64_t>().
  const bool too_large =
      place.json->is_number_unsigned() && place.json->get<uint64_t>() > static_cast<uint64_t>(kLargest);
  if (!place.json->is_number_integer() || too_large) {
    complain(place, fmt::format("is {}; expected an integer", shown(*place.json)));
    return least;
  }
  const int64_t value = place.json->get<int64_t>();
  if (value >= least && value <= most) return value;
  complain(place, most == kLargest ? fmt::format("is {}; expected at least {}", value, least)
                                   : fmt::format("is {}; expected {} to {}", value, least, most));
  return least;
}

double JsonReader::number(const Place& object, const char* key, const char* unit, bool need) {
  const Place place = field(object, key);
  if (!is_there(place, need)) return 0;
  if (place.json->is_number()) return place.json->get<double>();
  complain(place, fmt::format("is {}; expected a number of {}", shown(*place.json), unit));
  return 0;
}

bool JsonReader::flag(const Place& object, const char* key, bool need) {
  const Place place = field(object, key);
  if (!is_there(place, need)) return false;
  if (place.json->is_boolean()) return place.json->get<bool>();
  complain(place, fmt::format("is {}; expected true or false", shown(*place.json)));
  return false;
}

std::string JsonReader::text(const Place& object, const char* key, bool need) {
  const Place place = field(object, key);
  if (!is_there(place, need)) return "";
  if (place.json->is_string()) return place.json->get<std::string>();
  complain(place, fmt::format("is {}; expected a string", shown(*place.json)));
  return "";
}

std::map<std::string, std::string> JsonReader::texts(const Place& place) {
  std::map<std::string, std::string> found;
  object(place);
  if (error_) return found;
  for (const auto& [name, value] : place.json->items()) found[name] = text(place, name.c_str());
  return found;
}

}  // namespace plimsoll
