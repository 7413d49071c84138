// Converts between the order of a model file (plain) and the order in the arena (blocked).
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll::train {

// The offset of element (i0, i1, …), in elements. `index` has one entry for each dimension.
int64_t element_offset(const TensorDesc& desc, const int64_t* index);

// For f32. `blocked` has desc.padded_elements(), `plain` has desc.elements(). Padding is written as zero.
void to_blocked(const TensorDesc& desc, const float* plain, float* blocked);
void to_plain(const TensorDesc& desc, const float* blocked, float* plain);

}  // namespace plimsoll::train
