#pragma once

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

}  // namespace plimsoll
