#include "compiler/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/report/page.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

constexpr double kWidth = 960, kHeight = 400, kLeft = 74, kRight = 20, kTop = 18, kBottom = 34;
constexpr double kTicks = 6;

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
                       x(at), x(at), kTop, kHeight - kBottom, x(at), kHeight - 12, at == 0 ? "0" : format_bytes(static_cast<int64_t>(at)));
  if (level_seconds > 0)
    svg += fmt::format("<line class=\"ideal\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"muted\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       kLeft, kWidth - kRight, y(level_seconds), y(level_seconds), kWidth - kRight, y(level_seconds) + 15, html_escaped(level_name));
  for (const ChartLine& line : lines) {
    std::string path;
    for (const ChartPoint& point : line.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(static_cast<double>(point.bytes)), y(point.seconds));
    if (line.points.size() > 1) svg += fmt::format("<path d=\"{}\" style=\"stroke:{}{}\"/>\n", path, line.colour,
                                               line.dashed ? ";stroke-dasharray:7 4" : "");
    for (const ChartPoint& point : line.points)
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" style=\"{}\"><title>{}</title></circle>\n", x(static_cast<double>(point.bytes)), y(point.seconds),
                         point.hollow ? fmt::format("fill:var(--paper);stroke:{};stroke-width:2", line.colour) : "fill:" + line.colour, html_escaped(point.hint));
  }
  svg += "</svg></div>\n";
  if (lines.size() > 1) {
    svg += "<div class=\"legend\">";
    for (const ChartLine& line : lines) svg += fmt::format("<span><i style=\"border-color:{}{}\"></i>{}</span>", line.colour,
                                                         line.dashed ? ";border-top-style:dashed" : "", html_escaped(line.name));
    svg += "</div>\n";
  }
  return svg;
}

}  // namespace plimsoll
