// Loops over the rows of two operands, of which the second broadcasts to the first: all dimensions but the last.
#pragma once

#include "runtime/loops.h"

namespace plimsoll {

// Strides count rows. Both operands have a plain layout and at least one dimension.
inline Loops<2> loops_over_rows(TensorDesc x, TensorDesc other) {
  --x.dims.count;
  --other.dims.count;
  return loops_over<2>({x, other});
}

inline int64_t row_length(const TensorDesc& desc) { return desc.dims[desc.rank() - 1]; }

}  // namespace plimsoll
