#include "passes/pool/two_ended_pool.h"

#include <algorithm>

namespace plimsoll::pool {

std::optional<int64_t> TwoEndedPool::allocate(int64_t bytes, End end) {
  if (bytes == 0) return 0;
  Region& mine = region(end);
  const int64_t offset = *mine.pool.allocate(bytes);  // unbounded: there is always room above the region's top
  const Region& other = region(end == End::low ? End::high : End::low);
  const int64_t both = std::max(mine.top(), offset + bytes) + other.top();
  if (both > capacity_) {
    mine.pool.release(offset, bytes);
    return std::nullopt;
  }
  mine.taken.emplace(offset, bytes);
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
  if (bytes == 0) return;
  Region& mine = region(end);
  mine.pool.release(offset, bytes);
  mine.taken.erase(offset);
}

}  // namespace plimsoll::pool
