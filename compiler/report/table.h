// Aligned text for the terminal. Widths are counted in characters, so names in any script line up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// No line of a report is longer.
inline constexpr size_t kReportWidth = 100;

struct Column {
  std::string heading = {};
  bool right = false;   // numbers
  size_t most = 40;     // longer texts are cut in the middle: "layer4.2…conv3"
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Headings and rows, two spaces in front and between. A table of no rows is empty.
  std::string print(bool color) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Characters of UTF-8; every other byte counts as one.
size_t width_of(std::string_view text);

// What stands where a name was shortened.
inline constexpr std::string_view kLeftOut = "…";

// At most `most` characters. What is too long loses first the modules that the next one repeats ("/layer1/layer1.0/conv" is
// "…layer1.0/conv"), then its middle. Control characters are shown as '?'.
std::string shortened(std::string_view text, size_t most);

// "██████████▌         " of `width` characters; `share` from 0 to 1.
std::string bar(double share, size_t width);

// "1.25 s", "12.5 ms", "4.2 µs"
std::string format_seconds(double seconds);

// The same, and "-" for none.
std::string dashed(double seconds);

// "60%", "0.4%"
std::string format_share(double share);

std::string heading(std::string_view text, bool color);

}  // namespace plimsoll
