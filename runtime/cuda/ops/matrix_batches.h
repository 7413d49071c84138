// The matrices of a batched product, whose leading dimensions broadcast, as few calls with evenly spaced matrices.
#pragma once

#include <vector>

#include "runtime/kernel.h"

namespace plimsoll::cuda {

struct MatrixBatches {
  // One call multiplies `count` matrices; from one to the next, a and b advance by these elements, and y by one matrix.
  int64_t count = 1, a_step = 0, b_step = 0;
  std::vector<int64_t> a, b;  // by call: the offset of its first matrix, in elements

  size_t calls() const { return a.size(); }
};

// For each matrix of y in turn, the offset of the corresponding matrix of `from`, in elements.
inline std::vector<int64_t> matrix_offsets(const TensorDesc& from, const TensorDesc& y) {
  std::vector<int64_t> offsets = {0};
  const size_t leading = y.rank() - 2;
  std::vector<int64_t> strides(leading);
  int64_t stride = from.dim(leading) * from.dim(leading + 1);
  for (size_t axis = leading; axis-- > 0; stride *= from.dim(axis)) strides[axis] = from.dim(axis) == 1 ? 0 : stride;
  for (size_t axis = 0; axis < leading; ++axis) {
    std::vector<int64_t> longer;
    for (const int64_t offset : offsets)
      for (int64_t i = 0; i < y.dim(axis); ++i) longer.push_back(offset + i * strides[axis]);
    offsets = std::move(longer);
  }
  return offsets;
}

// Whether, in each run of `count` offsets, one follows another by `step`.
inline bool evenly_spaced(const std::vector<int64_t>& offsets, int64_t count, int64_t step) {
  for (size_t i = 1; i < offsets.size(); ++i)
    if (i % static_cast<size_t>(count) != 0 && offsets[i] - offsets[i - 1] != step) return false;
  return true;
}

// Calls have the matrices of the last leading dimensions, as many of these as are evenly spaced.
inline MatrixBatches matrix_batches(const TensorDesc& a, const TensorDesc& b, const TensorDesc& y) {
  const std::vector<int64_t> of_a = matrix_offsets(a, y), of_b = matrix_offsets(b, y);
  MatrixBatches batches;
  int64_t count = 1;
  for (size_t axis = y.rank() - 2; axis-- > 0;) {
    count *= y.dim(axis);
    if (count <= 1) continue;
    const int64_t a_step = of_a[1] - of_a[0], b_step = of_b[1] - of_b[0];
    if (!evenly_spaced(of_a, count, a_step) || !evenly_spaced(of_b, count, b_step)) break;
    batches.count = count, batches.a_step = a_step, batches.b_step = b_step;
  }
  for (size_t i = 0; i < of_a.size(); i += static_cast<size_t>(batches.count)) {
    batches.a.push_back(of_a[i]);
    batches.b.push_back(of_b[i]);
  }
  return batches;
}

}  // namespace plimsoll::cuda
