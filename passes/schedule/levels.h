// Bytes per step, with range additions. Steps are grouped in blocks, each with the amount added to all of it and its
// maximum. A block has about as many steps as there are blocks, so a range of n steps takes about sqrt(n) operations.
//
//   step     0 … 63    64 … 127   128 … 191        add(40, 150): steps of the first and last block one by one,
//   block    +0        +4096      +0               whole blocks in between at once
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::schedule {

class Levels {
 public:
  void assign(std::span<const int64_t> levels);

  // Ranges are half-open.
  void add(int32_t begin, int32_t end, int64_t bytes);
  bool exceeds(int32_t begin, int32_t end, int64_t limit) const { return first_above(begin, end, limit) < end; }
  int32_t first_above(int32_t begin, int32_t end, int64_t limit) const;  // the first step above the limit, or `end`
  int32_t after_last_above(int32_t begin, int32_t end, int64_t limit) const;  // after the last such step, or `begin`

  int64_t operator[](int32_t step) const;
  int32_t highest() const;  // the first of the maximal steps. Requires at least one step

 private:
  struct Block {
    int64_t added = 0, highest = 0;  // highest includes added
  };
  int32_t steps() const { return static_cast<int32_t>(levels_.size()); }
  int32_t block_of(int32_t step) const { return step >> shift_; }
  int32_t begin_of(int32_t block) const { return block << shift_; }
  int32_t end_of(int32_t block) const { return std::min(steps(), begin_of(block + 1)); }
  void update(int32_t block);

  std::vector<int64_t> levels_;
  std::vector<Block> blocks_;
  int32_t shift_ = 0;  // log2 of the steps in a block
};

}  // namespace plimsoll::schedule
