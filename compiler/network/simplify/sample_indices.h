// Indices that exporters build from sample numbers and from numbers within each sample, for x[arange(N), i]. The sample
// numbers are unknown before the batch is; an operator that selects by such indices does not need them.
//
//   dynamo         GatherND(x [N, T, …], Concat([n, i]))
//   TorchScript    Gather(x as [N·T, …], n·T + i)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// `count` consecutive numbers starting at `first`.
struct IndexRun {
  int64_t first = 0, count = 1;
};

struct SampleIndices {
  std::vector<std::string> parts = {};  // numbers along the first axes of a sample, each [N, …] or [N, …, 1]
  Dims dims = {};                       // [N, …]
  // with a single part: the number of rows per sample, if the rows of all samples form one dimension; otherwise, and in
  // an example of one sample, 0
  int64_t length = 0;
  // Not empty: all parts are known; part i counts along dimension 1 + i and is the same along the others.
  std::vector<IndexRun> box = {};
};

// The step if the numbers are n · step for sample n, the same within a sample; otherwise nullopt. `exported_batch`: the
// batch of the exporter's example, in which the numbers may be listed.
std::optional<int64_t> step_of_samples(const KnownValue& known, std::optional<int64_t> exported_batch);

// The indices that an Add or a Concat computes, if all readers use them to select.
std::optional<SampleIndices> sample_indices(const Model& model, const GraphUses& uses, ValueTable& table,
                                            const ModelNode& node, std::optional<int64_t> exported_batch);

// An Add, Max or Min of sample numbers whose readers read only its shape: the input that has the shape of the result.
// Empty: no input has it, or another reader needs the elements.
std::string input_of_that_shape(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& node,
                                std::optional<int64_t> exported_batch);

// The result of an Expand to the samples if its input was written for the samples of the example: their numbers, or one
// number throughout.
std::optional<KnownValue> expanded_to_samples(ValueTable& table, const ModelNode& node,
                                              std::optional<int64_t> exported_batch);

// The larger of two shapes, dimension by dimension, where one has the number of samples.
std::optional<KnownValue> larger_shape(ValueTable& table, const ModelNode& node, std::optional<int64_t> exported_batch);

// A constant that the node (Expand, Tile, ConstantOfShape) repeats for the samples of the example, or the numbers by
// which a Range counts them, as those of any number of samples; `known` is the node's result as the file has it.
// nullopt: neither, or what is repeated is one integer, and the result may be a shape.
std::optional<KnownValue> constant_of_samples(const ModelNode& node, ValueTable& table, const KnownValue& known,
                                              std::optional<int64_t> exported_batch);

}  // namespace plimsoll
