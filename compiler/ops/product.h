// The matrix product as tasks, for Gemm and MatMul.
//   MatMul {a, b, c, y}: y = alpha · op(a) · op(b) + beta · c; operands are views of equal rank
#pragma once

#include "compiler/ops/task_builder.h"
#include "runtime/attrs/matmul.h"

namespace plimsoll {

// Operands 0 and 1 of the node, as the kernel sees them.
struct Product {
  Dims a = {}, b = {}, y = {};
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;

  // 2 · M · N · K · leading dimensions; the same for the product and for each of its gradients.
  Affine flops() const;
  // Samples are contracted: another split of the batch gives another result.
  bool mixes_samples() const;
};

// The dimensions as the product sees them: the last two are swapped if transposed.
Dims turned(Dims dims, bool transpose);

void forward_product(TaskBuilder& build, const Product& product, const Operand& c, double beta);

// dA = alpha · dY · op(B)ᵀ reads only B; dB = alpha · op(A)ᵀ · dY reads only A. If leading dimensions were broadcast,
// the full product is computed first, then summed.
void backward_product(TaskBuilder& build, const Product& product);

}  // namespace plimsoll
