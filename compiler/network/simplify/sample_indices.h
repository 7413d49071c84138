// Indices that exporters put together of the numbers of the samples and of numbers within each of them, for
// x[arange(N), i]. The numbers of the samples are not known before the batch is; a reader that picks by such indices
// can do without them.
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

// `count` numbers from `first` on.
struct IndexRun {
  int64_t first = 0, count = 1;
};

struct SampleIndices {
  std::vector<std::string> parts = {};  // numbers along the first axes of a sample, each [N, …] or [N, …, 1]
  Dims dims = {};                       // [N, …]
  int64_t length = 0;  // with one part: of how many rows of a sample in a row of all samples' it is one; 0: of neither
  // Not empty: all parts are known, part i counts along dimension 1 + i and is the same along the others.
  std::vector<IndexRun> box = {};
};

// n · step for sample n, the same within a sample; nullopt: other numbers, or none. `exported_batch`: of the exporter's
// example, where numbers may be written down for it.
std::optional<int64_t> step_of_samples(const KnownValue& known, std::optional<int64_t> exported_batch);

// The indices that an Add or a Concat makes, where all that read them pick by them.
std::optional<SampleIndices> sample_indices(const Model& model, const GraphUses& uses, ValueTable& table,
                                            const ModelNode& node, std::optional<int64_t> exported_batch);

// An Add, Max or Min of sample numbers whose readers read only its shape: the input that has the shape of the result.
// Empty: no input has it, or another reader needs the elements.
std::string input_of_that_shape(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& node,
                                std::optional<int64_t> exported_batch);

// An Expand to the samples of what was written down for those of the example: their numbers, or one number throughout.
std::optional<KnownValue> expanded_to_samples(ValueTable& table, const ModelNode& node,
                                              std::optional<int64_t> exported_batch);

// The larger of two shapes, dimension by dimension, where one has the number of samples.
std::optional<KnownValue> larger_shape(ValueTable& table, const ModelNode& node, std::optional<int64_t> exported_batch);

}  // namespace plimsoll
