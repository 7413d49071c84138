// Aligned text for the terminal. Widths are counted in characters, so names in any script align.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// The maximum length of a line in a report.
inline constexpr size_t kReportWidth = 100;

struct Column {
  std::string heading = {};
  bool right = false;   // right-aligned, for numbers
  size_t most = 40;     // longer texts are cut in the middle: "layer4.2…conv3"
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Headings and rows, indented and separated by two spaces. A table without rows is empty.
  std::string print(bool color) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The number of UTF-8 characters; each invalid byte counts as one.
size_t width_of(std::string_view text);

// Replaces the omitted part of a name.
inline constexpr std::string_view kLeftOut = "…";

// At most `most` characters. A long name first loses the modules that the next one repeats ("/layer1/layer1.0/conv"
// becomes "…layer1.0/conv"), then modules without a number ("encoder.layer.3.attention.query/MatMul" becomes
// "…layer.3…query/MatMul"), then its middle. Control characters are shown as '?'.
std::string shortened(std::string_view text, size_t most);

// "██████████▌         " of `width` characters; `share` from 0 to 1.
std::string bar(double share, size_t width);

// "1.25 s", "12.5 ms", "4.2 µs"
std::string format_seconds(double seconds);

// The same, but "-" for zero.
std::string dashed(double seconds);

// "60%", "0.4%"
std::string format_share(double share);

std::string heading(std::string_view text, bool color);

}  // namespace plimsoll
