// Bytes by step, of which stretches rise and fall: in blocks, each with what was added to all of it and its highest.
//
//   step     0 … 63    64 … 127   128 … 191        add(40, 150): steps of the first and the last block one by one,
//   block    +0        +4096      +0               and of those between, the block
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::search {

class Levels {
 public:
  void assign(std::span<const int64_t> levels);

  // Half-open.
  void add(int32_t begin, int32_t end, int64_t bytes);
  bool exceeds(int32_t begin, int32_t end, int64_t limit) const;  // somewhere

  int64_t at(int32_t step) const;
  int32_t highest() const;  // the first of the highest steps. Before: there are some

 private:
  static constexpr int32_t kBlock = 64;
  struct Block {
    int64_t added = 0, highest = 0;  // the highest counts what was added
  };
  void add_within(size_t block, int32_t begin, int32_t end, int64_t bytes);

  std::vector<int64_t> levels_;
  std::vector<Block> blocks_;
};

}  // namespace plimsoll::search
