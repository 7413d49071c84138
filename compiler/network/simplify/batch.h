// The batch: which input dimensions are the number of samples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/tensor_type.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

// The number of elements per sample, and whether the batch is among the dimensions. nullopt: the batch is there twice,
// or the product overflows.
struct Count { int64_t value = 1; bool batch = false; };
std::optional<Count> count_of(const Dims& dims);

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

}  // namespace plimsoll
