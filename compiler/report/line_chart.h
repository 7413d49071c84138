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
};

struct ChartLine {
  std::string name = {};
  size_t style = 0;  // below kChartStyles: a colour, a shape of its points and a dash; shape and dash alone tell lines apart
  std::vector<ChartPoint> points = {};  // by bytes
};

constexpr size_t kChartStyles = 16;

// Where points of several lines are one, pointing at it tells of all of them.
// `level_seconds`: a dashed line across, named `level_name`; 0: none. At least one point must be given.
std::string line_chart(const std::vector<ChartLine>& lines, double level_seconds, const std::string& level_name);

}  // namespace plimsoll
