#include "passes/pool/two_ended_pool.h"

#include <algorithm>

namespace plimsoll::pool {

std::optional<int64_t> TwoEndedPool::allocate(int64_t bytes, End end) {
  if (bytes == 0) return 0;
  const int64_t offset = *region(end).allocate(bytes);
  const int64_t both = low_.top() + high_.top();
  if (both > capacity_) {
    release(offset, bytes, end);
    return std::nullopt;
  }
  high_water_ = std::max(high_water_, both);
  return offset;
}

int64_t TwoEndedPool::grow(int64_t bytes, End end) {
  const int64_t before = capacity_;
  capacity_ = kUnbounded;
  const int64_t offset = *allocate(bytes, end);
  capacity_ = std::max(before, low_.top() + high_.top());
  return offset;
}

void TwoEndedPool::release(int64_t offset, int64_t bytes, End end) {
  region(end).release(offset, bytes);
}

}  // namespace plimsoll::pool
