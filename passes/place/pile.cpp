#include "passes/place/pile.h"

#include <algorithm>
#include <limits>

namespace plimsoll::placement {
namespace {

constexpr size_t kChunk = 256;

}  // namespace

int64_t Pile::add(int32_t lower, int32_t upper, int64_t size, Gap gap) {
  const int64_t offset = find(lower, upper, size, gap);
  insert({offset, offset + size, lower, upper});
  height_ = std::max(height_, offset + size);
  return offset;
}

// Scans upwards through the entries live at the same time. `top` is the highest end so far; the space between it and
// the next entry is free.
int64_t Pile::find(int32_t lower, int32_t upper, int64_t size, Gap gap) const {
  int64_t top = 0, best = -1, best_room = std::numeric_limits<int64_t>::max();
  for (const Chunk& chunk : chunks_) {
    if (chunk.upper <= lower || upper <= chunk.lower) continue;
    for (const Entry& entry : chunk.entries) {
      if (entry.upper <= lower || upper <= entry.lower) continue;
      const int64_t room = entry.offset - top;
      if (room >= size && room < best_room) {
        if (gap == Gap::lowest) return top;
        best = top;
        best_room = room;
      }
      top = std::max(top, entry.end);
    }
  }
  return best >= 0 ? best : top;
}

void Pile::insert(const Entry& entry) {
  const auto begin_of = [](const Chunk& chunk) { return chunk.entries.front().offset; };
  const auto after = std::ranges::upper_bound(chunks_, entry.offset, {}, begin_of);
  if (chunks_.empty()) {
    chunks_.push_back({{entry}, entry.lower, entry.upper});
    return;
  }
  const auto chunk = after == chunks_.begin() ? after : std::prev(after);
  chunk->entries.insert(std::ranges::upper_bound(chunk->entries, entry.offset, {}, &Entry::offset), entry);
  chunk->lower = std::min(chunk->lower, entry.lower);
  chunk->upper = std::max(chunk->upper, entry.upper);
  if (chunk->entries.size() < 2 * kChunk) return;

  const auto make = [](std::vector<Entry> entries) {
    const int32_t lower = std::ranges::min(entries, {}, &Entry::lower).lower,
                  upper = std::ranges::max(entries, {}, &Entry::upper).upper;
    return Chunk{std::move(entries), lower, upper};
  };
  const auto middle = chunk->entries.begin() + kChunk;
  Chunk high = make({middle, chunk->entries.end()}), low = make({chunk->entries.begin(), middle});
  *chunk = std::move(low);
  chunks_.insert(std::next(chunk), std::move(high));
}

}  // namespace plimsoll::placement
