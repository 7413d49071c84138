// Indices that name a row of each sample: x[arange(N), i], as a language model's head reads the last token of each text.
// PyTorch's exporters count the samples:
//
//   TorchScript   Gather(x as [N·S, …], arange(N)·S + i)
//   dynamo        GatherND(x, Concat(arange(N), i)), and Max(arange(N), i) for its shape
//
// No kernel reads what numbers the samples. Such a node is left out, what is known of it stands in the table of values, and
// the Gather picks along the second axis.
#pragma once

#include <optional>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// An Add or a Concat of numbers of samples and of an index within each sample. nullopt: another node.
std::optional<NumberedRows> number_rows(const Network& network, ValueTable& table, const ModelNode& source);

// Whether only the shape is read of what the node computes from numbers of samples; its dimensions then.
std::optional<Dims> shape_of_numbers(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& source);

}  // namespace plimsoll
