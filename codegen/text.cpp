#include "codegen/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

constexpr size_t kColumns = 120;

// Where a comment begins, and the commas after which a line may be broken: outside string literals, and not inside
// nested operands if there are other commas.
struct Breaks {
  size_t comment = std::string_view::npos;
  std::vector<size_t> after_commas;
};

Breaks breaks_of(std::string_view line) {
  constexpr int kDeepest = 2;
  Breaks breaks;
  std::vector<size_t> deep;
  bool in_string = false;
  int depth = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string && c == '\\') ++i;
    else if (c == '"') in_string = !in_string;
    else if (in_string) continue;
    else if (line.substr(i).starts_with("//")) {
      breaks.comment = i;
      break;
    } else if (c == '(' || c == '{') ++depth;
    else if (c == ')' || c == '}') --depth;
    else if (line.substr(i).starts_with(", ")) (depth <= kDeepest ? breaks.after_commas : deep).push_back(i + 1);
  }
  if (breaks.after_commas.empty()) breaks.after_commas = std::move(deep);
  return breaks;
}

// Fills each line as far as possible. The last line leaves `tail` columns free if a break can achieve that.
std::string broken(std::string_view code, size_t indent, size_t tail) {
  const std::vector<size_t> breaks = breaks_of(code).after_commas;
  std::string text;
  size_t begin = 0;
  for (size_t room = kColumns;; room = kColumns - indent) {
    size_t at = code.size();
    for (const size_t after : breaks)
      if (after > begin && code.size() - begin + tail > room && (at == code.size() || after - begin <= room))
        at = after;
    text += code.substr(begin, at - begin);
    if (at == code.size()) return text;
    text += "\n" + std::string(indent, ' ');
    begin = at + 1;  // skip the space, too
  }
}

std::string comment_lines(std::string_view comment, size_t indent) {
  std::string text;
  for (comment.remove_prefix(3);;) {
    const size_t room = kColumns - indent - 3;
    size_t end = comment.size() <= room ? comment.size() : comment.rfind(' ', room);
    if (end == comment.npos || end == 0) end = std::min(comment.find(' ', 1), comment.size());
    text += fmt::format("{}// {}", std::string(indent, ' '), comment.substr(0, end));
    if (end == comment.size()) return text;
    comment.remove_prefix(end + 1);
    text += '\n';
  }
}

std::string line_within_columns(std::string_view line) {
  if (line.size() <= kColumns) return std::string(line);
  const size_t indent = line.find_first_not_of(' ');
  const Breaks breaks = breaks_of(line);
  if (breaks.comment == indent)
    return line.substr(indent).starts_with("// ") ? comment_lines(line.substr(indent), indent) : std::string(line);
  if (breaks.comment == line.npos) return broken(line, indent + 4, 0);
  const std::string_view comment = line.substr(breaks.comment);
  const std::string code =
      broken(line.substr(0, line.find_last_not_of(' ', breaks.comment - 1) + 1), indent + 4, comment.size() + 2);
  const size_t last = code.size() - (code.rfind('\n') + 1);
  if (last + 2 + comment.size() <= kColumns) return fmt::format("{}  {}", code, comment);
  return fmt::format("{}\n{}", comment_lines(comment, indent), code);
}

}  // namespace

std::string within_columns(std::string_view source) {
  std::string text;
  for (size_t begin = 0; begin < source.size();) {
    const size_t end = std::min(source.find('\n', begin), source.size());
    text += line_within_columns(source.substr(begin, end - begin));
    if (end < source.size()) text += '\n';
    begin = end + 1;
  }
  return text;
}

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
