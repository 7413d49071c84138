// How long a kernel takes.
#pragma once

#include <span>

#include "runtime/backend.h"
#include "runtime/kernel.h"

namespace plimsoll::profile {

// Bytes of an arena in which a kernel with these operands can be measured.
int64_t bytes_to_measure(std::span<const OperandDesc> operands, int64_t workspace_bytes);

// Median of several runs after one to warm up, in seconds. The arena has at least bytes_to_measure().
double median_seconds(Kernel& kernel, std::span<const OperandDesc> operands, int64_t workspace_bytes,
                      const backend::Arena& arena);

}  // namespace plimsoll::profile
