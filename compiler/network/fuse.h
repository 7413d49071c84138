// Melts a Relu into the node before it, where that node's operator has a kernel that does both (Op::absorbs_relu).
//
// Why: a Relu alone reads and writes its tensor once more forward, and the value before it is read by nobody else. The
// melted node makes y = relu(f(x)) at once; its backward takes the mask from y, which the next layer keeps anyway.
//
// Before: types are inferred, and additions are melted (fuse_additions.h).
// After: no Relu follows, as only reader, a node that could have absorbed it.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_activations(Network& network);

}  // namespace plimsoll
