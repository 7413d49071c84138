// The elements of one dimension that a Slice selects.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

struct SliceRange {
  int64_t first = 0;
  int64_t count = 0;  // every step-th from the first on
};

// For a dimension of `size` elements, from `start` to before `end`. Negative bounds count from the end; bounds are
// clamped to the dimension. Before: step is not 0.
inline SliceRange slice_range(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (size == 0) return {};
  const auto clamped = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? std::max(bound, -size - 1) + size : bound, low, high);
  };
  const int64_t first = step > 0 ? clamped(start, 0, size) : clamped(start, 0, size - 1);
  const int64_t last = step > 0 ? clamped(end, 0, size) : clamped(end, -1, size - 1);
  const int64_t span = step > 0 ? last - first : first - last;
  const int64_t stride = step > 0 ? step : -std::max(step, -size);
  return {first, span <= 0 ? 0 : 1 + (span - 1) / stride};
}

}  // namespace plimsoll
