// Concat and Split are each other's gradient.
//   Concat {x0, x1, …, y}   Split {x, y0, y1, …}: the pieces lie along `axis` of the whole, starting at `first`
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/shape.h"

namespace plimsoll {

// Blocked if the channels of all pieces fill blocks; parameters have no blocks.
LayoutRule pieces_layout(const NodeView& node);

// Adds Split tasks from `whole` to `pieces`. Absent pieces are skipped, at the cost of a further task. `extents` are
// the lengths of all pieces along the axis.
void split(TaskBuilder& build, TaskKind kind, size_t axis, const Operand& whole, const std::vector<Operand>& pieces,
           const std::vector<int64_t>& extents);

}  // namespace plimsoll
