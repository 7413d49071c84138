// The maximum number of trainer inputs that are labels of losses inside the model's own loss.
#pragma once

#include <cstddef>

namespace plimsoll {

inline constexpr size_t kLabelScales = 8;

}  // namespace plimsoll
