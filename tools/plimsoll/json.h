// --json: prints results as a JSON object or a list of objects.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/json_text.h"

namespace plimsoll {

inline constexpr const char* kJsonHelp = "figures as JSON, to stdout";

// Builds an object. Keys keep their order; bytes and seconds keep all digits.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) { return add_text(key, json_text(value)); }
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, bool value) { return add_text(key, value ? "true" : "false"); }
  JsonObject& add(std::string_view key, std::integral auto value) { return add_text(key, fmt::format("{}", value)); }
  JsonObject& add(std::string_view key, double value) { return add_text(key, fmt::format("{}", value)); }
  // A value that is already JSON.
  JsonObject& add_text(std::string_view key, std::string_view json);
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

std::string json_list(const std::vector<std::string>& values);

// A CSV table (csv.h) as a list with an object for each line. Numeric fields become numbers, empty ones null.
std::string json_of_csv(std::string_view csv);

// The summary of a plan, without steps and tensors.
JsonObject json_of(const Plan& plan);

}  // namespace plimsoll
