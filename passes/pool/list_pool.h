// A pool of device memory as a list of blocks in the order of addresses, taken by best fit: what moDNN manages ("linked
// list") and what vDNN does through CnMem. Nothing is allocated here: it is replayed ahead of time, to learn what would
// have to leave, and how high the addresses go.
//
//   address  0        512       1024              2048      …
//            | free   | t1      | free            |  tail     t0 and t2 were given back: t1 stands between them, so a
//            +--------+---------+-----------------+           request of 1200 goes to the tail although 1536 are free
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace plimsoll::pool {

inline constexpr int64_t kUnbounded = int64_t{1} << 61;

class ListPool {
 public:
  explicit ListPool(int64_t capacity = kUnbounded);

  // The smallest free block that is large enough, of equal ones the lowest; its front is taken. None: no single block is.
  // 0 bytes are always there, at no address of their own.
  std::optional<int64_t> allocate(int64_t bytes);
  // Enlarges the pool by what its last free block lacks, and takes the bytes there.
  int64_t grow(int64_t bytes);
  // Before: `offset` came from one of the above for `bytes`, and was not given back since.
  void release(int64_t offset, int64_t bytes);

  int64_t capacity() const { return capacity_; }
  int64_t free_bytes() const { return free_bytes_; }
  int64_t largest_free() const;
  int64_t high_water() const { return high_water_; }  // the highest end of any block so far

 private:
  using Free = std::map<int64_t, int64_t>;  // offset → bytes; no two touch
  int64_t take(Free::iterator block, int64_t offset, int64_t bytes);

  Free free_;
  int64_t capacity_ = 0;
  int64_t free_bytes_ = 0;
  int64_t high_water_ = 0;
};

}  // namespace plimsoll::pool
