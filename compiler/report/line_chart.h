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
  bool hollow = false;
};

struct ChartLine {
  std::string name = {};
  std::string colour = {};  // CSS
  std::vector<ChartPoint> points = {};  // by bytes
  bool dashed = false;
};

// `level_seconds`: a dashed line across, named `level_name`; 0: none. At least one point must be given.
std::string line_chart(const std::vector<ChartLine>& lines, double level_seconds, const std::string& level_name);

}  // namespace plimsoll
