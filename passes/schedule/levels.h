// Bytes per step, with range additions. Steps are grouped in blocks, and blocks in groups, each with the amount added
// to all of it and its maximum. So a range of hundreds of thousands of steps takes a few hundred operations.
//
//   step     0 … 63    64 … 127   128 … 191        add(40, 150): steps of the first and last block one by one,
//   block    +0        +4096      +0               whole blocks (or groups) in between at once
#pragma once

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
  static constexpr int32_t kBlock = 64, kGroup = 64 * kBlock;  // steps
  struct Part {
    int64_t added = 0, highest = 0;  // highest includes added
    void add(int64_t bytes) { added += bytes, highest += bytes; }
  };
  int32_t steps() const { return static_cast<int32_t>(levels_.size()); }
  void add_in_group(int32_t begin, int32_t end, int64_t bytes);
  void update_block(int32_t block);
  void update_group(int32_t group);

  std::vector<int64_t> levels_;
  std::vector<Part> blocks_, groups_;
};

}  // namespace plimsoll::schedule
