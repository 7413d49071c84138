// Attributes of the matrix product, shared by compiler/ops/{gemm,matmul}.cpp and every backend.
#pragma once

namespace plimsoll {

// y = alpha · op(a) · op(b) + beta · c, where op() swaps the last two dimensions if its flag is set.
struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 1;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("transpose_a", transpose_a);
    v("transpose_b", transpose_b);
    v("alpha", alpha);
    v("beta", beta);
  }
};

}  // namespace plimsoll
