// The matrix product as tasks, for the operators that are one (Gemm, MatMul).
//   MatMul {a, b, c, y}: y = alpha · op(a) · op(b) + beta · c; operands are views of one rank
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
  // Samples are contracted: another split of the batch is another result.
  bool mixes_samples() const;
};

// The dimensions as the product has them: the last two swapped where it is transposed.
Dims turned(Dims dims, bool transpose);

void forward_product(TaskBuilder& build, const Product& product, const Operand& c, double beta);

// dA = alpha · dY · op(B)ᵀ reads B only; dB = alpha · op(A)ᵀ · dY reads A only. Where leading dimensions were
// stretched, the full product is made first and summed.
void backward_product(TaskBuilder& build, const Product& product);

}  // namespace plimsoll
