// What the backends' kernels of LinearCrossEntropy share: the slots of the operands, the matrices, and the algorithms.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "runtime/attrs/loss.h"
#include "runtime/kernel.h"

namespace plimsoll {

struct LinearLossSlots {
  enum Slot : size_t { x, weight, labels, loss, correct, dx, dweight, bias, dbias, class_weights };
};

// x [rows, inner], weight [inner, classes] or transposed, logits [rows, classes].
struct LinearLossShape {
  int64_t rows, inner, classes;
  bool transposed;

  LinearLossShape(const LinearCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : rows(operands[LinearLossSlots::x].tensor.dim(0)),
        inner(operands[LinearLossSlots::x].tensor.dim(1)),
        classes(operands[LinearLossSlots::weight].tensor.dim(attrs.transposed ? 0 : 1)),
        transposed(attrs.transposed) {}
};

inline std::vector<int64_t> rows_at_a_time(int64_t rows) {
  std::vector<int64_t> all;
  for (const int64_t some : kRowsOfLogits)
    if (some < rows || some == std::end(kRowsOfLogits)[-1]) all.push_back(some);
  return all;
}

inline std::string name_of_rows(int64_t rows) { return "rows_" + std::to_string(rows); }

}  // namespace plimsoll
