// Leaves out each Expand whose reader broadcasts its operands itself: x / Expand(norm), as PyTorch's F.normalize.
//
// Why: the reader's backward would keep the expanded tensor, and then the gradient of an expanded tensor is summed by a
// task of its own.
//
// Before: types are inferred, all layouts plain.   After: the same function. The layouts that an operator accepts
// (Op::layout_of) have not become fewer.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void leave_out_expands(Network& network);

}  // namespace plimsoll
