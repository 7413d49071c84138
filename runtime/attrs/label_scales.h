// How many of a trainer's inputs may be labels of losses that are terms of the model's own.
#pragma once

#include <cstddef>

namespace plimsoll {

inline constexpr size_t kLabelScales = 8;

}  // namespace plimsoll
