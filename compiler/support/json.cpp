#include "compiler/support/json.h"

namespace plimsoll {

Json parse_json(std::string_view text) { return Json::parse(text); }

Json json_or_null(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace plimsoll
