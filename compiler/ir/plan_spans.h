// The default begin and end of a plan's residencies. The text form states only exceptions.
#pragma once

#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Per tensor, in issue order: from a step that makes it resident to the last access before the next such step.
struct Span {
  int32_t first = 0, last = 0;
};

IdVector<TensorId, std::vector<Span>> spans_of(const Plan& plan);

// The span that begins at `first`, or null.
const Span* span_from(const std::vector<Span>& spans, int32_t first);

}  // namespace plimsoll
