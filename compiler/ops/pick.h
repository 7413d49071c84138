// What operators share that pick along an axis: [outer, n, inner], and the middle one is chosen from.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/elements.h"

namespace plimsoll {

struct PickView {
  size_t axis = 0;
  Dim outer, inner;
  int64_t n = 0;
};

// Of input 0. Errors: an axis that is not there, or that the samples lie along.
Result<PickView> pick_view(const NodeView& node, int64_t axis);

// ArgMax and ArgMin.   ArgPick {x, y}
Result<std::vector<TensorType>> infer_arg(const NodeView& node);
void forward_arg(TaskBuilder& build, bool least);
std::vector<Sample> arg_samples();

}  // namespace plimsoll
