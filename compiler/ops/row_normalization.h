// What LayerNormalization and RMSNormalization share: both normalize the elements from one axis on, each row by its own
// numbers.
//   <kernel>Forward  {x, scale, bias, y, mean, deviation}
//   <kernel>Backward {x, dy, scale, mean, deviation, dx, dscale, dbias}
// Kernels see [rows, columns]. What is kept of each row is its mean, if one is subtracted, and one over its deviation.
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

// x, then a scale and a bias of `row`, of which the first `inputs` are given.
Sample row_normalization_sample(std::string name, Dims x, Dims row, int64_t axis, size_t inputs);

}  // namespace plimsoll
