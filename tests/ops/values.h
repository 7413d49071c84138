// Tensor contents as plain numbers: row-major in logical order for every layout, so that results of different layouts,
// sub-batches and algorithms can be compared. The conversion here is independent of the tested code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/tensor_type.h"

namespace plimsoll::test {

using Values = std::vector<double>;

// The padding of blocked layouts becomes zero.
void store(const TensorDesc& desc, const Values& values, std::byte* bytes);
Values load(const TensorDesc& desc, const std::byte* bytes);

// The part of `values` (of `type` at `samples`) that belongs to samples [first, first + count). All of it if the type
// does not depend on the batch.
Values rows_of(const Values& values, const TensorType& type, int64_t samples, int64_t first, int64_t count);

double norm(const Values& a);
// a - b| / |b|, where norms below `floor` count as `floor`. Infinite if sizes differ or an element is NaN.
double distance(const Values& a, const Values& b, double floor = 1e-6);

}  // namespace plimsoll::test
