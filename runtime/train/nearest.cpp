#include "runtime/train/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll::train {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

std::vector<std::string_view> nearest(std::string_view text, const std::vector<std::string_view>& names, size_t count,
                                      size_t furthest) {
  std::vector<std::pair<size_t, std::string_view>> found;
  for (const std::string_view name : names)
    if (const size_t distance = edit_distance(text, name); distance <= furthest) found.emplace_back(distance, name);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> list;
  for (const auto& [distance, name] : found)
    if (list.size() < count) list.push_back(name);
  return list;
}

}  // namespace plimsoll::train
