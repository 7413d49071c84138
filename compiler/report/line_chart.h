// Charts of time against memory, as SVG that takes its colours from page.css.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

struct ChartPoint {
  int64_t bytes = 0;
  double seconds = 0;
  std::string hint = {};  // the tooltip
  bool splits = false;    // marked with †
  std::string note = {};  // a label next to the point, which gets a ring; empty: none
};

struct ChartLine {
  std::string name = {};
  size_t style = 0;  // below kChartStyles: a colour, a marker shape and a dash; shape and dash alone distinguish lines
  std::vector<ChartPoint> points = {};  // sorted by bytes
  bool strong = true;  // other lines are drawn fainter
};

constexpr size_t kChartStyles = 16;

struct ChartLevel {
  double seconds = 0;  // a horizontal dashed line; 0: none
  std::string name = {};
};

// The smallest of 1, 2, 5, 10, … that is at least `raw`.
double round_tick(double raw);

// "600 ms": ticks are round numbers, so trailing zeros are omitted.
std::string tick_text(double seconds);

// Common memory sizes of devices below `most` bytes, in bytes.
std::vector<int64_t> card_sizes(int64_t most);

// Two drawings, for wide and for narrow windows, of which the page shows one, and a legend. If one time is much longer
// than another, the time axis is logarithmic, so that an outlier does not flatten the rest. Points of several lines at
// one position share a tooltip. At least one point must be given.
std::string line_chart(const std::vector<ChartLine>& lines, const ChartLevel& level);

}  // namespace plimsoll
