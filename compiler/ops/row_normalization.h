// Shared by LayerNormalization and RMSNormalization: both normalize the elements from one axis on, each row by its own
// statistics.
//   <kernel>Forward  {x, scale, bias, y, mean, deviation}
//   <kernel>Backward {x, dy, scale, mean, deviation, dx, dscale, dbias}
// Kernels see [rows, columns]. For each row, its mean (if one is subtracted) and the reciprocal of its standard
// deviation are saved for backward.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

struct RowNormalization {
  std::string kernel;    // "LayerNorm"
  bool centered = true;  // the mean is subtracted
};

Result<std::vector<TensorType>> infer_row_normalization(const NodeView& node);
void forward_row_normalization(TaskBuilder& build, const RowNormalization& what);
void backward_row_normalization(TaskBuilder& build, const RowNormalization& what);

// x, then a scale and a bias shaped like `row`, of which the first `inputs` are given.
Sample row_normalization_sample(std::string name, Dims x, Dims row, int64_t axis, size_t inputs);

}  // namespace plimsoll
