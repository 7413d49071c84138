// Losses that divide a sum over samples by their number.
//
//   loss = ((y - x) ** 2).sum() / x.shape[0]        Div(ReduceSum(e), Cast(Shape(x)[0]))
//
// The number of samples is no constant of the network: a trainer may split the batch into rounds. The sum divided by it
// is the mean of each sample's part, which is right for any split.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// k, where the node is a Cast of k times the number of samples to a real number.
std::optional<int64_t> counted_samples(ValueTable& table, const ModelNode& node);

// What is written for a Div by `count` times the number of samples: ReduceMean in place of ReduceSum, behind the same
// Add, Sub, Neg, Mul and Div by numbers. nullopt, where its dividend is no sum over samples.
std::optional<std::vector<ModelNode>> divided_by_samples(const Model& model, const GraphUses& uses, ValueTable& table,
                                                         const ModelNode& division, int64_t count);

}  // namespace plimsoll
