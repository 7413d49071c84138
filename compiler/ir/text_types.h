// Reads types as in text forms: f32[N,64,56,56]:nChw16c. Private to compiler/ir/.
#pragma once

#include <cstdint>

#include "compiler/ir/tensor_type.h"
#include "compiler/support/text_cursor.h"

namespace plimsoll {

// Refuses sizes that exceed 63 bits with `batch` samples.
TensorType read_type(TextCursor& cursor, int64_t batch);

}  // namespace plimsoll
