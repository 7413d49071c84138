// Where residencies of a plan usually begin and end: its text says only those that do not.
#pragma once

#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// For each tensor, in issue order, from a step that puts it into the arena to the last touch before the next that does.
struct Span {
  int32_t first = 0, last = 0;
};

IdVector<TensorId, std::vector<Span>> spans_of(const Plan& plan);

// The one that begins at `first`; null: none does.
const Span* span_from(const std::vector<Span>& spans, int32_t first);

}  // namespace plimsoll
