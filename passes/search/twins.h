// Networks repeat themselves. Tensors that play the same part in identical blocks are twins: what is decided for one of them
// is tried for all at once, so a block is planned once, however often it occurs.
//
//   block 1:  conv a ─ bn b ─ relu c     block 2:  conv a' ─ bn b' ─ relu c'     …     twins: a a' …,  b b' …,  c c' …
#pragma once

#include <vector>

#include "passes/schedule/model.h"

namespace plimsoll::search {

// The classes of `tensors`, in their order, which is kept within a class too. Two are twins when they have the same size
// and the same kind of producer (by its algorithms' times and workspaces), as far as three tasks upstream and one downstream.
std::vector<std::vector<int32_t>> find_twins(const schedule::Model& model, const std::vector<int32_t>& tensors);

}  // namespace plimsoll::search
