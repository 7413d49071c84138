#include "codegen/text.h"

#include <fmt/format.h>

namespace plimsoll {

std::string comment_safe(std::string_view name) {
  constexpr size_t kLongest = 96;
  std::string safe;
  for (const char c : name.substr(0, kLongest)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    safe += plain || std::string_view("._/:-+,=()[]{}*@#%~ ").find(c) != std::string_view::npos ? c : '_';
  }
  return name.size() > kLongest ? safe + "..." : safe;
}

std::string string_literal(std::string_view bytes) {
  std::string literal = "\"";
  for (const char c : bytes) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || std::string_view("._/:-+,=()[] ").find(c) != std::string_view::npos)
      literal += c;
    else
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return literal + "\"";
}

std::string snake_case(std::string_view camel_case) {
  std::string snake;
  for (const char c : camel_case) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !snake.empty()) snake += '_';
    snake += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return snake;
}

std::string desc_literal(const TensorType& type, std::string_view samples) {
  std::string dims;
  for (const Dim& dim : type.dims) {
    dims += dims.empty() ? "" : ", ";
    if (!dim.batch) dims += fmt::format("{}", dim.value);
    else if (dim.value == 1) dims += samples;
    else dims += fmt::format("{} * {}", dim.value, samples);
  }
  const std::string layout =
      type.layout == Layout::plain ? "" : fmt::format(", Layout::{}", name_of(type.layout));
  return fmt::format("{}({{{}}}{})", name_of(type.type), dims, layout);
}

}  // namespace plimsoll
