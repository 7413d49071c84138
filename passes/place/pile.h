// The set of placed buffers of a greedy placement. It finds the lowest or the tightest gap for the next buffer.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll::placement {

enum class Gap {
  lowest,    // the first gap from the bottom that is large enough
  tightest,  // the smallest gap that is large enough; the lower one on a tie
};

// Entries are sorted by offset in chunks of a few hundred, each with the hull of its lifetimes. So an insertion moves
// little memory, and a search skips chunks whose hull it does not meet. Fifty thousand buffers take about a second.
class Pile {
 public:
  // Finds and takes a place, and returns its offset. Requires size > 0.
  int64_t add(int32_t lower, int32_t upper, int64_t size, Gap gap);
  int64_t height() const { return height_; }

 private:
  struct Entry {
    int64_t offset, end;
    int32_t lower, upper;
  };
  struct Chunk {
    std::vector<Entry> entries;
    int32_t lower, upper;  // hull of the lifetimes
  };

  int64_t find(int32_t lower, int32_t upper, int64_t size, Gap gap) const;
  void insert(const Entry& entry);

  std::vector<Chunk> chunks_;
  int64_t height_ = 0;
};

}  // namespace plimsoll::placement
