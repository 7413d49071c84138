// Matrix products for other kernels (matmul.cpp).
#pragma once

#include "runtime/kernels.h"

namespace plimsoll::cuda {

// As MatMul::make, which assumes that every operand begins at a multiple of 256 bytes; here, of `alignment` bytes.
// `row_of_a`: elements from a row of a, as it is stored, to the next one; 0: they are adjacent.
std::unique_ptr<Kernel> product_of_parts(const MatMulAttrs& attrs, std::span<const OperandDesc> operands,
                                         std::string_view algorithm, int64_t alignment, int64_t row_of_a = 0);

}  // namespace plimsoll::cuda
