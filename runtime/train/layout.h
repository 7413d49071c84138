// Between the order of a model file (plain) and the order in the arena (blocked).
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll::train {

// Where element (i0, i1, …) lies, in elements. `index` has as many entries as the description has dimensions.
int64_t element_offset(const TensorDesc& desc, const int64_t* index);

// f32 only. `blocked` has desc.padded_elements(), `plain` desc.elements(); padding is written as zero.
void to_blocked(const TensorDesc& desc, const float* plain, float* blocked);
void to_plain(const TensorDesc& desc, const float* blocked, float* plain);

}  // namespace plimsoll::train
