// Suggestions for misspelled names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::train {

// Edit distance: the number of letters to insert, remove or change.
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names` to `text`, the nearest first: at most `count`, with a distance of at most `furthest`.
std::vector<std::string_view> nearest(std::string_view text, const std::vector<std::string_view>& names, size_t count,
                                      size_t furthest);

}  // namespace plimsoll::train
