#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// JSON is parsed and written here alone: each file that did so by itself took three seconds longer to compile.
namespace plimsoll {

using Json = nlohmann::ordered_json;

// Throws Json::parse_error, which knows the byte, or Json::exception where a number is none that any type holds.
Json parse_json(std::string_view text);

// null where it is no JSON.
Json json_or_null(std::string_view text);

// On one line, or with so many blanks in front of each value. Names may hold any bytes: what is not UTF-8 is replaced
// rather than refused.
std::string dump(const Json& json, int indent = -1);

}  // namespace plimsoll
