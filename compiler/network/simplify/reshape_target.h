// The target of a Reshape, and where the batch is in it: a number of samples that the exporter wrote as a constant is
// replaced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/tensor_type.h"

namespace plimsoll {

// The rows that the Reshapes of a model so far have merged from samples and steps, in either order.
//
//   [T,N,8] → [TN,8]     of_steps has T: the rows of the first step come first
//   [N,T,8] → [TN,8]     of_samples has T, if the example has one sample
//
// In a model with nn.MultiheadAttention, what is in front of the samples are steps: it splits [T,N,8] → [T,2N,4].
struct MergedRows {
  std::vector<int64_t> of_steps = {}, of_samples = {};
  bool splits_heads = false;  // noticed if the example has one sample
};

// The target of a Reshape of `x` in the operator's terms: numbers, 0 for "as in x", -1 for "the remaining elements". A
// batch entry becomes 0 or -1; so does one exported as a number, if that is provable. Error (a sentence without the
// node): what could not be proved.
struct ReshapeTarget {
  std::vector<int64_t> entries = {};
  std::string error = {};
  bool rewritten = false;  // a number was replaced
};
// Adds to `rows` what this Reshape merges. Rows [TN,8] may be those of each step instead of each sample.
ReshapeTarget reshape_target(const Dims& x, const std::vector<Dim>& target, bool zero_copies,
                             std::optional<int64_t> exported_batch, MergedRows& rows);

}  // namespace plimsoll
