#include "passes/pool/list_pool.h"

#include <algorithm>

#include "compiler/support/status.h"

namespace plimsoll::pool {

ListPool::ListPool(int64_t capacity) : capacity_(capacity), free_bytes_(capacity) {
  if (capacity > 0) free_.emplace(0, capacity);
}

int64_t ListPool::take(Free::iterator block, int64_t offset, int64_t bytes) {
  const int64_t begin = block->first, end = begin + block->second;
  free_.erase(block);
  if (offset > begin) free_.emplace(begin, offset - begin);
  if (offset + bytes < end) free_.emplace(offset + bytes, end - offset - bytes);
  free_bytes_ -= bytes;
  return offset;
}

std::optional<int64_t> ListPool::allocate(int64_t bytes) {
  if (bytes == 0) return 0;
  auto best = free_.end();
  for (auto block = free_.begin(); block != free_.end(); ++block)
    if (block->second >= bytes && (best == free_.end() || block->second < best->second)) best = block;
  if (best == free_.end()) return std::nullopt;
  return take(best, best->first, bytes);
}

int64_t ListPool::top() const {
  if (free_.empty()) return capacity_;
  const auto& [offset, bytes] = *free_.rbegin();
  return offset + bytes == capacity_ ? offset : capacity_;
}

int64_t ListPool::grow(int64_t bytes) {
  const int64_t begin = top();
  const int64_t more = std::max<int64_t>(begin + bytes - capacity_, 0);
  free_.erase(begin);
  capacity_ += more;
  free_bytes_ += more;
  if (capacity_ == begin) return 0;  // empty request
  return take(free_.emplace(begin, capacity_ - begin).first, begin, bytes);
}

void ListPool::release(int64_t offset, int64_t bytes) {
  if (bytes == 0) return;
  free_bytes_ += bytes;
  auto next = free_.lower_bound(offset);
  PLIMSOLL_CHECK(next == free_.end() || next->first >= offset + bytes, "a block is given back twice");
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    PLIMSOLL_CHECK(before->first + before->second <= offset, "a block is given back twice");
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

int64_t ListPool::largest_free() const {
  int64_t largest = 0;
  for (const auto& [offset, bytes] : free_) largest = std::max(largest, bytes);
  return largest;
}

}  // namespace plimsoll::pool
