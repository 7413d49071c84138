#include "compiler/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "compiler/report/page.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

constexpr double kLogFrom = 3;  // ratio to the shortest time from which a linear axis would flatten the relevant part

constexpr std::array kColours = {"var(--accent)",    "var(--gradient)",        "var(--forward)",   "var(--offload)",
                                 "var(--recompute)", "var(--weight-gradient)", "var(--workspace)", "var(--input)"};
// Outlines around the origin: circle, square, diamond, triangles, plus, cross, star.
constexpr std::array kShapes = {
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "M-4.5-4.5h9v9h-9z",
    "M0-6.5L6.5 0L0 6.5L-6.5 0z",
    "M0-6L6 5H-6z",
    "M0 6L6-5H-6z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "M0-2.8L2.8-5.6L5.6-2.8L2.8 0L5.6 2.8L2.8 5.6L0 2.8L-2.8 5.6L-5.6 2.8L-2.8 0L-5.6-2.8L-2.8-5.6z",
    "M0-7L1.8-2.4L6.7-2.2L2.9 .9L4.1 5.7L0 3L-4.1 5.7L-2.9 .9L-6.7-2.2L-1.8-2.4z"};
static_assert(kChartStyles == 2 * kShapes.size() && kColours.size() == kShapes.size());

// Readers who do not see colours can use the shape, filled on a solid line and empty on a dashed one. If a shape
// repeats, it has another colour.
struct Look {
  explicit Look(size_t style)
      : shape(kShapes[style % kShapes.size()]),
        again(style / kShapes.size() % 2 == 1),
        colour(kColours[(style + (again ? 3 : 0)) % kColours.size()]) {}
  [[nodiscard]] std::string mark(const std::string& at, const std::string& hint) const {
    return fmt::format("<path class=\"mark\" d=\"{}\"{} style=\"{}\"{}></path>", shape, at,
                       again ? fmt::format("fill:var(--paper);stroke:{}", colour) : fmt::format("fill:{}", colour),
                       hint.empty() ? "" : fmt::format(" tabindex=\"0\" data-tip=\"{}\"", html_escaped(hint)));
  }
  [[nodiscard]] std::string line(const std::string& path) const {
    return fmt::format("<path class=\"line\" d=\"{}\" style=\"stroke:{}{}\"/>", path, colour,
                       again ? ";stroke-dasharray:7 4" : "");
  }
  std::string_view shape;
  bool again;
  std::string_view colour;
};

// Memory ticks are powers of two: 256 MiB, 512 MiB, …
double round_bytes(double raw) { return std::pow(2, std::ceil(std::log2(std::max(1.0, raw)))); }

// 1, 1.5, 2, 3, 4, 5, 6, 8, 10, … times a power of ten, at or above `least`.
std::vector<double> log_ticks(double least, double most) {
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(least))); power <= most; power *= 10)
    for (const double factor : std::array{1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0})
      if (power * factor >= least && power * factor <= most) ticks.push_back(power * factor);
  return ticks;
}

// One drawing. Text is 12 units high, so a narrow page needs a narrower drawing, not a scaled one.
class Drawing {
 public:
  Drawing(const std::vector<ChartLine>& lines, const ChartLevel& level, double width, double height)
      : lines_(lines),
        level_(level),
        width_(width),
        height_(height),
        least_seconds_(level.seconds > 0 ? level.seconds : 1e300),
        most_seconds_(level.seconds) {
    for (const ChartLine& line : lines)
      for (const ChartPoint& point : line.points) {
        most_bytes_ = std::max(most_bytes_, static_cast<double>(point.bytes));
        most_seconds_ = std::max(most_seconds_, point.seconds);
        if (point.seconds > 0) least_seconds_ = std::min(least_seconds_, point.seconds);
      }
    if (most_seconds_ <= 0) most_seconds_ = least_seconds_ = 1;
    log_ = most_seconds_ > kLogFrom * least_seconds_;
    least_seconds_ = log_ ? 0.88 * least_seconds_ : 0;
    most_seconds_ *= 1.06;
    most_bytes_ *= 1.03;
  }

  std::string svg(const char* kind) const {
    std::string text = fmt::format(
        "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"time of an iteration against the "
        "budget\">\n",
        kind, width_, height_);
    text += axes() + cards() + level();
    for (const ChartLine& line : lines_)
      if (!line.strong) text += drawn(line);
    for (const ChartLine& line : lines_)
      if (line.strong) text += drawn(line);
    return text + "</svg>\n";
  }

 private:
  double x(double bytes) const { return kLeft + bytes / most_bytes_ * (width_ - kLeft - kRight); }
  double y(double seconds) const {
    const double share =
        log_ ? std::log(std::max(seconds, least_seconds_) / least_seconds_) / std::log(most_seconds_ / least_seconds_)
             : seconds / most_seconds_;
    return height_ - kBottom - share * (height_ - kTop - kBottom);
  }

  std::string axes() const {
    std::string text;
    std::vector<double> times;
    if (log_) times = log_ticks(least_seconds_, most_seconds_);
    else
      for (double at = 0, tick = round_tick(most_seconds_ / 6); at <= most_seconds_; at += tick) times.push_back(at);
    double above = 1e9;
    for (const double at : times) {
      if (above - y(at) < 22) continue;
      above = y(at);
      text += fmt::format(
          "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"muted\" x=\"{}\" "
          "y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          kLeft, width_ - kRight, y(at), y(at), kLeft - 8, y(at) + 4, tick_text(at));
    }
    const double tick = round_bytes(most_bytes_ / ((width_ - kLeft - kRight) / 110));
    for (double at = 0; at <= most_bytes_; at += tick)
      text += fmt::format(
          "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/><text class=\"muted\" x=\"{:.1f}\" "
          "y=\"{}\" text-anchor=\"middle\">{}</text>\n",
          x(at), x(at), kTop, height_ - kBottom, x(at), height_ - kBottom + 20,
          at == 0 ? "0" : format_bytes(static_cast<int64_t>(at)));
    return text + fmt::format("<text class=\"muted caption\" x=\"{}\" y=\"16\">time of an iteration{}</text>"
                              "<text class=\"muted caption\" x=\"{}\" y=\"{}\" text-anchor=\"end\">budget</text>\n",
                              6, log_ ? ", logarithmic" : "", width_ - kRight, height_ - 8);
  }

  std::string cards() const {
    std::string text;
    double until = kLeft;
    for (const int64_t bytes : card_sizes(static_cast<int64_t>(most_bytes_))) {
      const double at = x(static_cast<double>(bytes));
      text += fmt::format("<line class=\"card\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, kTop - 8,
                          height_ - kBottom);
      if (at - 34 > until) {
        text += fmt::format("<text class=\"muted\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{} GB card</text>\n",
                            at, kTop - 12, bytes >> 30);
        until = at + 34;
      }
    }
    return text;
  }

  std::string level() const {
    if (level_.seconds <= 0) return "";
    // The label is below the line at the left, where no plan can be that fast.
    return fmt::format(
        "<line class=\"ideal\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"muted\" x=\"{}\" "
        "y=\"{:.1f}\">{}</text>\n",
        kLeft, width_ - kRight, y(level_.seconds), y(level_.seconds), kLeft + 6, y(level_.seconds) + 15,
        html_escaped(level_.name));
  }

  std::pair<std::string, std::string> place(const ChartPoint& point) const {
    return {fmt::format("{:.1f}", x(static_cast<double>(point.bytes))), fmt::format("{:.1f}", y(point.seconds))};
  }

  // For all points at this position.
  std::string hint_at(const std::pair<std::string, std::string>& at) const {
    std::string hint;
    for (const ChartLine& line : lines_)
      for (const ChartPoint& point : line.points)
        if (!point.hint.empty() && place(point) == at) hint += (hint.empty() ? "" : "\n") + point.hint;
    return hint;
  }

  std::string drawn(const ChartLine& line) const {
    const Look look(line.style);
    std::string path, text;
    for (const ChartPoint& point : line.points)
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", place(point).first, place(point).second);
    if (line.points.size() > 1) text += look.line(path) + "\n";
    for (const ChartPoint& point : line.points) {
      const auto& [left, top] = place(point);
      text += look.mark(fmt::format(" transform=\"translate({} {})\"", left, top), hint_at({left, top})) + "\n";
      if (point.splits) text += fmt::format("<text x=\"{}\" y=\"{}\" dx=\"8\" dy=\"-6\">†</text>\n", left, top);
      if (!point.note.empty())
        text += fmt::format(
            "<circle class=\"ring\" cx=\"{}\" cy=\"{}\" r=\"10\"/><text class=\"note\" x=\"{}\" y=\"{}\" dx=\"13\" "
            "dy=\"-11\">{}</text>\n",
            left, top, left, top, html_escaped(point.note));
    }
    return fmt::format("<g class=\"{}\">{}</g>\n", line.strong ? "strong" : "faint", text);
  }

  static constexpr double kLeft = 66, kRight = 20, kTop = 46, kBottom = 48;
  const std::vector<ChartLine>& lines_;
  const ChartLevel& level_;
  const double width_, height_;
  double least_seconds_, most_seconds_, most_bytes_ = 1;
  bool log_ = false;
};

}  // namespace

double round_tick(double raw) {
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : std::array{1.0, 2.0, 5.0})
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

std::string tick_text(double seconds) {
  std::string text = format_seconds(seconds);
  if (const size_t zeros = text.find(".00 "); zeros != std::string::npos) text.erase(zeros, 3);
  return text;
}

std::vector<int64_t> card_sizes(int64_t most) {
  std::vector<int64_t> sizes;
  for (const int64_t gigabytes : {2, 4, 6, 8, 12, 16, 24, 32, 40, 48, 80, 96, 141, 192, 288})
    if (const int64_t bytes = gigabytes << 30; bytes < most) sizes.push_back(bytes);
  return sizes;
}

std::string line_chart(const std::vector<ChartLine>& lines, const ChartLevel& level) {
  std::string svg = "<div class=\"chart\">" + Drawing(lines, level, 960, 400).svg("wide") +
                    Drawing(lines, level, 400, 360).svg("narrow") + "</div>\n";
  if (lines.size() > 1) {
    svg += "<div class=\"legend\">";
    for (const ChartLine& line : lines) {
      const Look look(line.style);
      svg += fmt::format(
          "<span><svg viewBox=\"-17 -8 34 16\" width=\"34\" height=\"16\" aria-hidden=\"true\">{}{}</svg>{}</span>",
          look.line("M-17 0H17"), look.mark("", ""), html_escaped(line.name));
    }
    svg += "</div>\n";
  }
  return svg;
}

}  // namespace plimsoll
