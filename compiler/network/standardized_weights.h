// Replaces the standardization of a weight by InstanceNormalization: the F.batch_norm of a weight viewed as
// [1, C, rest], by which the convolutions of NFNet and BiT standardize it, as torch's dynamo exporter writes it.
//
//   ReduceMean, Sub, Mul, ReduceMean, ReduceMean, Sub, Add, Sqrt, Div, Mul, Add, some with an Unsqueeze
//
// Why: as primitive nodes, two tensors of the size of the weight are saved for the backward pass; the one operator
// reads only the weight.
//
// Before: types are inferred.   After: the same function up to rounding; intermediate nodes are removed.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_standardized_weights(Network& network);

}  // namespace plimsoll
