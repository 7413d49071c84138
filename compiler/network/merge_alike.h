// Merges nodes that compute the same from what is not trained: masks and positions, which exporters write once for each
// layer.
//
// Why: each layer's backward keeps its own copy. Values that depend on a trained weight are left alone: one value
// instead of two would change the order in which gradients are added up.
//
// Before: types are inferred, and what is trained is decided.   After: no two nodes without trained inputs have the
// same operator, attributes and inputs, except nodes that draw random numbers or make an output of the network.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void merge_alike(Network& network);

}  // namespace plimsoll
