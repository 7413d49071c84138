// The batch: which input dimensions are the number of samples, and how a number of samples that the exporter wrote as a
// constant is replaced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/tensor_type.h"
#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct ModelInput {
  std::string name = {};
  TensorType type = {};
};

struct ModelInputs {
  std::vector<ModelInput> inputs = {};
  // The number of samples that the model was exported with, if it is not symbolic.
  std::optional<int64_t> exported_batch = {};
  std::vector<std::string> notes = {};
};

// The graph's inputs that are not initializers. Errors: usage, listing every symbolic dimension that is neither the
// batch nor in options.dims; invalid_model; unsupported for element types.
Result<ModelInputs> find_inputs(const Model& model, const SimplifyOptions& options);

// The target of a Reshape of `x` in the operator's terms: numbers, 0 for "as in x", -1 for "the remaining elements". A
// batch entry becomes 0 or -1; so does one exported as a number, if that is provable. Error (a sentence without the
// node): what could not be proved.
struct ReshapeTarget {
  std::vector<int64_t> entries = {};
  std::string error = {};
  bool rewritten = false;  // a number was replaced
  // T, if samples that are not the first dimension are merged with the steps in front of them: [T,N,8] → [TN,8]
  int64_t merged_steps = 0;
};
// `merged_steps`: those of earlier Reshapes of the model. Rows [TN,8] may be those of each step instead of each sample.
ReshapeTarget reshape_target(const Dims& x, const std::vector<Dim>& target, bool zero_copies,
                             std::optional<int64_t> exported_batch, const std::vector<int64_t>& merged_steps = {});

}  // namespace plimsoll
