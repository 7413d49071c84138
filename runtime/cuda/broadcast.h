// What a matrix product begins with where an addend is broadcast to it.
#pragma once

#include "runtime/kernel.h"

namespace plimsoll::cuda {

// y = beta · c, where c's dimensions are those of y or 1, counted from the last.
void seed_with(const RunContext& context, float* y, const TensorDesc& y_desc, const float* c, const TensorDesc& c_desc,
               float beta);

}  // namespace plimsoll::cuda
