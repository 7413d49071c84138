// Names that somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::train {

// The fewest letters to insert, remove or change.
size_t edit_distance(std::string_view a, std::string_view b);

// Of `names` the nearest to `text`, the nearest first: at most `count` of them, and none further than `furthest`.
std::vector<std::string_view> nearest(std::string_view text, const std::vector<std::string_view>& names, size_t count,
                                      size_t furthest);

}  // namespace plimsoll::train
