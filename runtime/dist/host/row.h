// A bucket as one contiguous sequence of numbers. Private to runtime/dist/host/.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/dist/ranks.h"

namespace plimsoll::dist {

class Row {
 public:
  explicit Row(std::span<const Stretch> stretches) : stretches_(stretches) {
    for (const Stretch& stretch : stretches) count_ += stretch.bytes / kNumber;
  }
  int64_t count() const { return count_; }

  // Copies numbers [first, first + count) to a buffer, and back.
  void take(int64_t first, int64_t count, float* to) const {
    for_each(first, count, [&](std::byte* from, int64_t at, int64_t n) {
      std::memcpy(to + at, from, static_cast<size_t>(n * kNumber));
    });
  }
  void put(int64_t first, int64_t count, const float* from) const {
    for_each(first, count, [&](std::byte* to, int64_t at, int64_t n) {
      std::memcpy(to, from + at, static_cast<size_t>(n * kNumber));
    });
  }

 private:
  static constexpr int64_t kNumber = sizeof(float);

  // body(address, offset from `first`, count) for each stretch that overlaps the range.
  template <class Body>
  void for_each(int64_t first, int64_t count, Body body) const {
    int64_t begin = 0;
    for (const Stretch& stretch : stretches_) {
      const int64_t end = begin + stretch.bytes / kNumber, from = std::max(begin, first),
                    to = std::min(end, first + count);
      if (from < to) body(stretch.data + (from - begin) * kNumber, from - first, to - from);
      begin = end;
    }
  }

  std::span<const Stretch> stretches_;
  int64_t count_ = 0;
};

}  // namespace plimsoll::dist
