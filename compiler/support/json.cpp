#include "compiler/support/json.h"

#include <fmt/format.h>

namespace plimsoll {

Json parse_json(std::string_view text) { return Json::parse(text); }

Json json_or_null(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

namespace {

bool is_plain(std::string_view text) {
  for (const char c : text)
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') return false;
  return true;
}

}  // namespace

void JsonText::separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

JsonText& JsonText::begin(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonText& JsonText::end(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  text_ += '"';
  text_ += name;
  text_ += "\":";
  first_ = true;
  return *this;
}

JsonText& JsonText::value(int64_t number) {
  separate();
  const fmt::format_int digits(number);
  text_.append(digits.data(), digits.size());
  return *this;
}

JsonText& JsonText::value(double number) {
  separate();
  text_ += Json(number).dump();  // null if it is not finite
  return *this;
}

JsonText& JsonText::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonText& JsonText::value(std::string_view text) {
  separate();
  if (!is_plain(text)) {
    text_ += dump(Json(text));
    return *this;
  }
  text_ += '"';
  text_ += text;
  text_ += '"';
  return *this;
}

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace plimsoll
