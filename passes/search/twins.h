// Networks repeat blocks. Tensors with the same role in identical blocks are twins. The search also changes the
// decisions of many twins at once, so a block is planned once however often it occurs.
//
//   block 1:  conv a ─ bn b ─ relu c     block 2:  conv a' ─ bn b' ─ relu c'     …     twins: a a' …,  b b' …,  c c' …
#pragma once

#include <vector>

#include "passes/search/names.h"

namespace plimsoll::search {

// The classes of `tensors`, in their order, also within a class. Two tensors are twins if they have the same size and
// the same kind of producer (by the times and workspaces of its algorithms), and if this holds for three tasks upstream
// and one downstream.
std::vector<std::vector<int32_t>> find_twins(const Model& model, const std::vector<int32_t>& tensors);

}  // namespace plimsoll::search
