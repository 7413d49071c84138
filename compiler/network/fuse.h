// Fuses a Relu, Swish or HardSwish into the preceding node if that node's operator has a kernel that does both
// (Op::absorbs).
//
// Why: a separate activation reads and writes its tensor once more in the forward pass, and the value before it has no
// other reader. The fused node computes y = relu(f(x)) at once; its backward takes the mask from y, which the next
// layer keeps anyway. The slopes of Swish and HardSwish are functions of f(x), which a separate activation keeps; the
// fused backward computes f(x) again from x.
//
// Before: types are inferred, and additions are fused (fuse_additions.h).
// After: no such activation is the only reader of a node that could have absorbed it.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_activations(Network& network);

}  // namespace plimsoll
