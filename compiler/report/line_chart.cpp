#include "compiler/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "compiler/report/page.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

constexpr double kWidth = 960, kHeight = 436, kLeft = 74, kRight = 20, kTop = 34, kBottom = 54;
constexpr double kTicks = 6;

constexpr std::array kColours = {"var(--activation)", "var(--gradient)", "var(--persistent)", "var(--offload)", "var(--recompute)",
                                 "var(--weight-gradient)", "var(--workspace)", "var(--input)"};
// Outlines about the origin: circle, square, diamond, triangles, plus, cross, star.
constexpr std::array kShapes = {"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
                                "M-4.5-4.5h9v9h-9z",
                                "M0-6.5L6.5 0L0 6.5L-6.5 0z",
                                "M0-6L6 5H-6z",
                                "M0 6L6-5H-6z",
                                "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
                                "M0-2.8L2.8-5.6L5.6-2.8L2.8 0L5.6 2.8L2.8 5.6L0 2.8L-2.8 5.6L-5.6 2.8L-2.8 0L-5.6-2.8L-2.8-5.6z",
                                "M0-7L1.8-2.4L6.7-2.2L2.9 .9L4.1 5.7L0 3L-4.1 5.7L-2.9 .9L-6.7-2.2L-1.8-2.4z"};
static_assert(kChartStyles == 2 * kShapes.size() && kColours.size() == kShapes.size());

// Who sees no colours goes by shape, filled on a line, empty on a dashed one; where a shape comes again, its colour is another, too.
struct Look {
  explicit Look(size_t style)
      : shape(kShapes[style % kShapes.size()]), again(style / kShapes.size() % 2 == 1), colour(kColours[(style + (again ? 3 : 0)) % kColours.size()]) {}
  [[nodiscard]] std::string mark(const std::string& at, const std::string& hint) const {
    return fmt::format("<path class=\"mark\" d=\"{}\"{} style=\"{}\">{}</path>", shape, at,
                       again ? fmt::format("fill:var(--paper);stroke:{}", colour) : fmt::format("fill:{}", colour),
                       hint.empty() ? "" : "<title>" + html_escaped(hint) + "</title>");
  }
  [[nodiscard]] std::string line(const std::string& path) const {
    return fmt::format("<path class=\"line\" d=\"{}\" style=\"stroke:{}{}\"/>", path, colour, again ? ";stroke-dasharray:7 4" : "");
  }
  std::string_view shape;
  bool again;
  std::string_view colour;
};

// The next of 1, 2, 5, 10, … at or above.
double round_tick(double raw) {
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : std::array{1.0, 2.0, 5.0})
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

// Ticks of memory are powers of two: 256 MiB, 512 MiB, …
double round_bytes(double raw) { return std::pow(2, std::ceil(std::log2(std::max(1.0, raw)))); }

// "600 ms": ticks are round, and zeros behind the point tell nothing.
std::string tick_text(double seconds) {
  std::string text = format_seconds(seconds);
  if (const size_t zeros = text.find(".00 "); zeros != std::string::npos) text.erase(zeros, 3);
  return text;
}

}  // namespace

std::string line_chart(const std::vector<ChartLine>& lines, double level_seconds, const std::string& level_name) {
  double most_bytes = 1, most_seconds = level_seconds;
  for (const ChartLine& line : lines)
    for (const ChartPoint& point : line.points) {
      most_bytes = std::max(most_bytes, static_cast<double>(point.bytes));
      most_seconds = std::max(most_seconds, point.seconds);
    }
  if (most_seconds <= 0) most_seconds = 1;
  most_bytes *= 1.02;
  most_seconds *= 1.06;
  const auto x = [&](double bytes) { return kLeft + bytes / most_bytes * (kWidth - kLeft - kRight); };
  const auto y = [&](double seconds) { return kHeight - kBottom - seconds / most_seconds * (kHeight - kTop - kBottom); };

  std::string svg = fmt::format("<div class=\"chart\"><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"time of an iteration against memory\">\n", kWidth, kHeight);
  const double second_tick = round_tick(most_seconds / kTicks), byte_tick = round_bytes(most_bytes / (kTicks + 2));
  for (double at = 0; at <= most_seconds; at += second_tick)
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"muted\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       kLeft, kWidth - kRight, y(at), y(at), kLeft - 8, y(at) + 4, tick_text(at));
  for (double at = 0; at <= most_bytes; at += byte_tick)
    svg += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/><text class=\"muted\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       x(at), x(at), kTop, kHeight - kBottom, x(at), kHeight - kBottom + 22, at == 0 ? "0" : format_bytes(static_cast<int64_t>(at)));
  svg += fmt::format("<text class=\"muted caption\" x=\"{}\" y=\"{}\">time of an iteration</text>"
                     "<text class=\"muted caption\" x=\"{}\" y=\"{}\" text-anchor=\"end\">budget: the most memory that the arena may take</text>\n",
                     kLeft, kTop - 12, kWidth - kRight, kHeight - 10);
  if (level_seconds > 0)  // its name stands on the left, where no plan is so fast
    svg += fmt::format("<line class=\"ideal\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"muted\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
                       kLeft, kWidth - kRight, y(level_seconds), y(level_seconds), kLeft + 6, y(level_seconds) + 15, html_escaped(level_name));
  std::map<std::pair<std::string, std::string>, std::string> hints;  // by place
  const auto place = [&](const ChartPoint& point) {
    return std::pair(fmt::format("{:.1f}", x(static_cast<double>(point.bytes))), fmt::format("{:.1f}", y(point.seconds)));
  };
  for (const ChartLine& line : lines)
    for (const ChartPoint& point : line.points) {
      std::string& hint = hints[place(point)];
      hint += (hint.empty() ? "" : "\n") + point.hint;
    }
  for (const ChartLine& line : lines) {
    const Look look(line.style);
    std::string path;
    for (const ChartPoint& point : line.points)
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", place(point).first, place(point).second);
    if (line.points.size() > 1) svg += look.line(path) + "\n";
    for (const ChartPoint& point : line.points) {
      const auto& [left, top] = place(point);
      svg += look.mark(fmt::format(" transform=\"translate({} {})\"", left, top), hints[{left, top}]) + "\n";
      if (point.splits) svg += fmt::format("<text x=\"{}\" y=\"{}\" dx=\"8\" dy=\"-6\">†</text>\n", left, top);
    }
  }
  svg += "</svg></div>\n";
  if (lines.size() > 1) {
    svg += "<div class=\"legend\">";
    for (const ChartLine& line : lines) {
      const Look look(line.style);
      svg += fmt::format("<span><svg viewBox=\"-17 -8 34 16\" width=\"34\" height=\"16\" aria-hidden=\"true\">{}{}</svg>{}</span>", look.line("M-17 0H17"),
                         look.mark("", ""), html_escaped(line.name));
    }
    svg += "</div>\n";
  }
  return svg;
}

}  // namespace plimsoll
