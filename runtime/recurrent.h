// The sizes of a recurrent network's steps, as its kernels see them on every backend.
//   x [T, N, G·H]: of all steps, what the inputs contribute to the G gates    r [G·H, H]    states [T, N, H]
#pragma once

#include "runtime/attrs/recurrent.h"
#include "runtime/kernel.h"

namespace plimsoll {

struct RecurrentShape {
  int64_t steps, samples, rows, size;  // rows: of r; size: of a state
  bool reverse;
  int64_t gate[4] = {};  // where ONNX's gates begin in a row of x

  RecurrentShape(const RecurrentAttrs& attrs, const TensorDesc& x, const TensorDesc& r)
      : steps(x.dim(0)), samples(x.dim(1)), rows(r.dim(0)), size(r.dim(1)), reverse(attrs.reverse) {
    for (size_t k = 0; k < attrs.gates.size() && k < 4; ++k) gate[k] = attrs.gates[k] * size;
  }

  int64_t state() const { return samples * size; }
  int64_t gates() const { return samples * rows; }
  // The step that is computed i-th, and the one before it.
  int64_t step(int64_t i) const { return reverse ? steps - 1 - i : i; }
  int64_t before(int64_t i) const { return step(i - 1); }
  // The first of all steps but the one that is computed first, and of the states before them.
  int64_t later() const { return reverse ? 0 : 1; }
  int64_t before_later() const { return reverse ? 1 : 0; }
};

}  // namespace plimsoll
