// Lines of time against memory, as SVG that takes its colours from page.css.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

struct ChartPoint {
  int64_t bytes = 0;
  double seconds = 0;
  std::string hint = {};  // what pointing at it tells
  bool splits = false;    // marked with †
  std::string note = {};  // stands beside the point, which has a ring; empty: none
};

struct ChartLine {
  std::string name = {};
  size_t style = 0;  // below kChartStyles: a colour, a shape of its points and a dash; shape and dash alone tell lines apart
  std::vector<ChartPoint> points = {};  // by bytes
  bool strong = true;  // others are drawn fainter
};

constexpr size_t kChartStyles = 16;

struct ChartLevel {
  double seconds = 0;  // a dashed line across; 0: none
  std::string name = {};
};

// The next of 1, 2, 5, 10, … at or above.
double round_tick(double raw);

// "600 ms": ticks are round, and zeros behind the point tell nothing.
std::string tick_text(double seconds);

// Memory sizes that devices are sold with and that lie below `most` bytes, in bytes.
std::vector<int64_t> card_sizes(int64_t most);

// Two drawings, for wide and for narrow windows, of which the page shows one, and a legend. Where one time is much longer than
// another the axis of times is logarithmic, so that no point flattens the rest. Where points of several lines are one, pointing at
// it tells of all of them. At least one point must be given.
std::string line_chart(const std::vector<ChartLine>& lines, const ChartLevel& level);

}  // namespace plimsoll
