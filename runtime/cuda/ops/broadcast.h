// Initializes the result of a matrix product with a broadcast addend.
#pragma once

#include "runtime/kernel.h"

namespace plimsoll::cuda {

// y = beta · c, where c's dimensions are those of y or 1, aligned at the last.
void seed_with(const RunContext& context, std::byte* y, const TensorDesc& y_desc, const std::byte* c,
               const TensorDesc& c_desc, float beta);

}  // namespace plimsoll::cuda
