// A memory pool as a list of blocks in address order, with best-fit allocation: moDNN's "linked list", and CnMem, which
// vDNN uses. Nothing is allocated: policies replay the pool ahead of time to find out which tensors must be evicted,
// and place/solve.h to find the addresses.
//
//   address  0        512       1024              2048      …
//            | free   | t1      | free            |  tail     t0 and t2 were released; t1 lies between, so a request
//            +--------+---------+-----------------+           of 1200 bytes is placed in the tail although 1536 bytes
//                                                             in front of it are free
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace plimsoll::pool {

inline constexpr int64_t kUnbounded = int64_t{1} << 61;

class ListPool {
 public:
  explicit ListPool(int64_t capacity = kUnbounded);

  // Takes the front of the smallest free block that is large enough; the lowest on a tie. nullopt: no single block is
  // large enough. A request of 0 bytes always succeeds, at an unspecified address.
  std::optional<int64_t> allocate(int64_t bytes);
  // Enlarges the pool by the bytes that its last free block lacks, and allocates there.
  int64_t grow(int64_t bytes);
  // Before: `offset` was returned by one of the above for `bytes`, and has not been released since.
  void release(int64_t offset, int64_t bytes);

  int64_t capacity() const { return capacity_; }
  int64_t free_bytes() const { return free_bytes_; }
  int64_t largest_free() const;
  int64_t top() const;  // the highest end of any block now

 private:
  using Free = std::map<int64_t, int64_t>;  // offset → bytes; blocks never touch each other
  int64_t take(Free::iterator block, int64_t offset, int64_t bytes);

  Free free_;
  int64_t capacity_ = 0;
  int64_t free_bytes_ = 0;
};

}  // namespace plimsoll::pool
