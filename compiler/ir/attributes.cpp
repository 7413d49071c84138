#include "compiler/ir/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace plimsoll {
namespace {

// `list`: format of a list of integers, for example "{}" or "{{{}}}".
std::string value_text(const AttributeValue& value, const char* separator, const char* list) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const int64_t* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const double* d = std::get_if<double>(&value)) {
    std::string text = fmt::format("{}", *d);
    // A real keeps a decimal point: 1 prints as 1.0, so that parsing restores the type.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return fmt::format(fmt::runtime(list), fmt::join(std::get<std::vector<int64_t>>(value), separator));
}

// The same as value_text(list, ",", "[{}]"), at the end of a text.
void append(std::string& text, const std::vector<int64_t>& list) {
  text += '[';
  for (const int64_t number : list) {
    const fmt::format_int digits(number);
    text.append(digits.data(), digits.size());
    text += ',';
  }
  if (list.empty()) text += ']';
  else text.back() = ']';
}

}  // namespace

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const Attribute& attribute : attributes) {
    if (!text.empty()) text += ' ';
    text += attribute.name;
    text += '=';
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value)) append(text, *list);
    else text += value_text(attribute.value, ",", "[{}]");
  }
  return text;
}

std::string to_initializer(const Attributes& attributes) {
  std::string text;
  for (const Attribute& attribute : attributes) {
    const double* real = std::get_if<double>(&attribute.value);
    std::string value = value_text(attribute.value, ", ", "{{{}}}");
    if (real && std::isinf(*real)) value = *real < 0 ? "-kInfinity" : "kInfinity";
    text += fmt::format("{}.{} = {}", text.empty() ? "" : ", ", attribute.name, value);
  }
  return "{" + text + "}";
}

}  // namespace plimsoll
