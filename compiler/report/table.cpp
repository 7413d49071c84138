#include "compiler/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string padded(const std::string& text, size_t width, bool right) {
  const size_t own = width_of(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return right ? space + text : text + space;
}

// Digits tell similar layers apart; spaces belong to a sentence.
bool matters(char c) { return (c >= '0' && c <= '9') || c == ' '; }

// "/layer1/layer1.0/downsample/downsample.0/Conv": "…layer1.0…downsample.0/Conv". If that has more than `most`
// characters, it loses modules from the left, except those with a number.
// "encoder.layer.3.attention.query/MatMul": "…layer.3…query/MatMul"
std::string without_modules(std::string_view text, size_t most) {
  std::vector<std::string_view> parts;  // "%", "encoder", ".layer", ".3", "/MatMul"
  for (size_t at = 0; at < text.size();) {
    const size_t end = at == 0 && text[0] == '%' ? 1 : std::min(text.find_first_of("./", at + 1), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  std::vector<bool> left_out(parts.size(), false);
  const auto shown = [&](size_t i) -> std::string_view {
    const bool after_gap = i > 0 && left_out[i - 1];
    if (left_out[i]) return after_gap ? "" : kLeftOut;
    return parts[i].substr(after_gap ? 1 : 0);
  };
  for (size_t i = 0; i + 2 < parts.size(); ++i)
    left_out[i] = parts[i].starts_with('/') && parts[i] == parts[i + 1] && parts[i + 2].starts_with('.');
  size_t width = 0;
  for (size_t i = 0; i < parts.size(); ++i) width += width_of(shown(i));
  for (size_t i = 0; i + 1 < parts.size() && width > most; ++i) {
    const bool number_next = parts[i + 1].size() > 1 && matters(parts[i + 1][1]);
    if (left_out[i] || parts[i] == "%" || number_next || std::ranges::any_of(parts[i], matters)) continue;
    width -= width_of(shown(i)) + width_of(shown(i + 1));
    left_out[i] = true;
    width += width_of(shown(i)) + width_of(shown(i + 1));
  }
  std::string rest;
  for (size_t i = 0; i < parts.size(); ++i) rest += shown(i);
  return rest;
}

}  // namespace

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shortened(std::string_view whole, size_t most) {
  const std::string text = width_of(whole) > most ? without_modules(whole, most) : std::string(whole);
  std::vector<std::string> characters;
  for (char c : text) {
    if (continues(c) && !characters.empty()) characters.back() += c;
    else characters.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? "?" : std::string(1, c));
  }
  const size_t count = characters.size();
  size_t head = count, tail = count;  // the first character that is removed, the first after it
  if (count > most) {
    tail = count - (most - 1) * 2 / 3;
    head = most - 1 - (count - tail);
    while (head > 0 && characters[head - 1] == kLeftOut) --head;  // one ellipsis is enough
    while (tail < count && characters[tail] == kLeftOut) ++tail;
  }
  std::string kept;
  for (size_t i = 0; i < head; ++i) kept += characters[i];
  if (count > most) kept += kLeftOut;
  for (size_t i = tail; i < count; ++i) kept += characters[i];
  return kept;
}

std::string Table::print(bool color) const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths;
  bool headed = false;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = width_of(columns_[c].heading);
    headed = headed || width > 0;
    for (const auto& row : rows_) width = std::max(width, std::min(width_of(row[c]), columns_[c].most));
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell) {
    std::string text;
    for (size_t c = 0; c < columns_.size(); ++c)
      text += "  " + padded(shortened(cell(c), std::max(widths[c], size_t{1})), widths[c], columns_[c].right);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text;
  if (headed) {
    const std::string headings = line([&](size_t c) -> const std::string& { return columns_[c].heading; });
    text += color ? fmt::format("\x1b[2m{}\x1b[0m\n", headings) : headings + "\n";
  }
  for (const auto& row : rows_) text += line([&](size_t c) -> const std::string& { return row[c]; }) + "\n";
  return text;
}

std::string bar(double share, size_t width) {
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double within = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  const size_t eighths = static_cast<size_t>(std::lround(within * static_cast<double>(width * 8)));
  std::string text;
  for (size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

std::string format_seconds(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude == 0) return "0";
  if (magnitude >= 100) return fmt::format("{:.0f} s", seconds);
  if (magnitude >= 1) return fmt::format("{:.2f} s", seconds);
  if (magnitude >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} µs", seconds * 1e6);
}

std::string dashed(double seconds) { return seconds == 0 ? "-" : format_seconds(seconds); }

std::string format_share(double share) {
  const double percent = share * 100;
  return percent != 0 && std::fabs(percent) < 1 ? fmt::format("{:.1f}%", percent) : fmt::format("{:.0f}%", percent);
}

std::string heading(std::string_view text, bool color) {
  return color ? fmt::format("\x1b[1m{}\x1b[0m\n", text) : fmt::format("{}\n", text);
}

}  // namespace plimsoll
