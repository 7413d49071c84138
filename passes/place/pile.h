// A pile of placed buffers, and the question that every greedy placement asks of it: where is there room for this one?
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll::placement {

enum class Gap {
  lowest,    // the first gap from the bottom that is large enough
  tightest,  // the smallest gap that is large enough, ties to the lower
};

// Entries lie sorted by offset in chunks of a few hundred, with the hull of their lifetimes: adding one moves little
// memory, and a search skips chunks that it does not meet in time. Fifty thousand buffers take about a second.
class Pile {
 public:
  // Finds the place, takes it, and returns its offset. size > 0.
  int64_t add(int32_t lower, int32_t upper, int64_t size, Gap gap);
  int64_t height() const { return height_; }
  // Entries looked at so far: the measure of effort, the same on every machine.
  int64_t scanned() const { return scanned_; }

 private:
  struct Entry {
    int64_t offset, end;
    int32_t lower, upper;
  };
  struct Chunk {
    std::vector<Entry> entries;
    int32_t lower, upper;  // hull
  };

  int64_t find(int32_t lower, int32_t upper, int64_t size, Gap gap);
  void insert(const Entry& entry);

  std::vector<Chunk> chunks_;
  int64_t height_ = 0;
  int64_t scanned_ = 0;
};

}  // namespace plimsoll::placement
