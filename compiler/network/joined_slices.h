// Makes one Split of the slices that together are a whole tensor.
//
//   q = x[0], k = x[1], v = x[2]          Split of x along axis 0: of the three axes of a projection
//   torch.roll: x[:, 3:], x[:, :3]        Split of x along axis 1
//   x[:, 0::2], x[:, 1::2]                Split of x.reshape(N, n / 2, 2, …) along axis 2: the merged patches of Swin
//   h[:, 0], h[:, 1], …                   Split of h along axis 1: a loop over steps
//
// Why: the gradient of a slice is a tensor as large as x, which is zero elsewhere, and the gradients of several slices
// are added up. For s slices these are s tensors written, and s - 1 sums. The gradient of Split is one Concat.
//
// Before: types are inferred. Patterns that contain slices have been replaced (composites.h), and so has attention.
// After:  the same function. A part that several slices select is computed once.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void join_slices(Network& network);

}  // namespace plimsoll
