// Shared by operators that select along an axis: x is viewed as [outer, n, inner], and the selection is along n.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/elements.h"

namespace plimsoll {

struct PickView {
  size_t axis = 0;
  Dim outer, inner;
  int64_t n = 0;
};

// For input 0. Errors: the axis does not exist, or is the sample dimension.
Result<PickView> pick_view(const NodeView& node, int64_t axis);

// ArgMax and ArgMin.   ArgPick {x, y}
Result<std::vector<TensorType>> infer_arg(const NodeView& node);
void forward_arg(TaskBuilder& build, bool least);
std::vector<Sample> arg_samples();

}  // namespace plimsoll
