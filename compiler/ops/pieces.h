// Concat and Split are each other's gradient.
//   Concat {x0, x1, …, y}   Split {x, y0, y1, …}: the pieces lie along `axis` of the whole, from `first` on
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/shape.h"

namespace plimsoll {

// Blocked wherever all channels divide; parameters have no blocks.
LayoutRule pieces_layout(const NodeView& node);

// Split tasks from `whole` to `pieces`; pieces that nobody wants (absent) are passed over, at the cost of a further task.
// `extents` are all pieces' lengths along the axis.
void split(TaskBuilder& build, TaskKind kind, size_t axis, const Operand& whole, const std::vector<Operand>& pieces,
           const std::vector<int64_t>& extents);

}  // namespace plimsoll
