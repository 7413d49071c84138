// What other operators that drop elements need to know of a Dropout.
#pragma once

#include <optional>

#include "compiler/ops/node_view.h"

namespace plimsoll {

// The fraction of elements that a Dropout drops; nullopt: not a constant.
std::optional<double> dropped_ratio(const NodeView& dropout);

}  // namespace plimsoll
