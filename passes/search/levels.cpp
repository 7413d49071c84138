#include "passes/search/levels.h"

#include <algorithm>

#include "passes/schedule/model.h"

namespace plimsoll::search {

void Levels::assign(std::span<const int64_t> levels) {
  levels_.assign(levels.begin(), levels.end());
  blocks_.assign((levels.size() + kBlock - 1) / kBlock, {});
  for (size_t block = 0; block < blocks_.size(); ++block) {
    const auto begin = levels_.begin() + static_cast<std::ptrdiff_t>(block) * kBlock;
    const auto end = levels_.begin() + static_cast<std::ptrdiff_t>(std::min(levels_.size(), (block + 1) * kBlock));
    blocks_[block].highest = *std::max_element(begin, end);
  }
}

void Levels::add_within(size_t block, int32_t begin, int32_t end, int64_t bytes) {
  for (int32_t step = begin; step < end; ++step) levels_[schedule::at(step)] += bytes;
  const auto first = levels_.begin() + static_cast<std::ptrdiff_t>(block) * kBlock;
  const auto last = levels_.begin() + static_cast<std::ptrdiff_t>(std::min(levels_.size(), (block + 1) * kBlock));
  blocks_[block].highest = *std::max_element(first, last) + blocks_[block].added;
}

void Levels::add(int32_t begin, int32_t end, int64_t bytes) {
  if (begin >= end) return;
  const int32_t first = begin / kBlock, last = (end - 1) / kBlock;
  if (first == last) return add_within(schedule::at(first), begin, end, bytes);
  add_within(schedule::at(first), begin, (first + 1) * kBlock, bytes);
  for (int32_t block = first + 1; block < last; ++block) {
    blocks_[schedule::at(block)].added += bytes;
    blocks_[schedule::at(block)].highest += bytes;
  }
  add_within(schedule::at(last), last * kBlock, end, bytes);
}

bool Levels::exceeds(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t step = begin; step < end;) {
    const int32_t block = step / kBlock, stop = std::min(end, (block + 1) * kBlock);
    const Block& whole = blocks_[schedule::at(block)];
    if (whole.highest > limit) {
      for (; step < stop; ++step)
        if (levels_[schedule::at(step)] + whole.added > limit) return true;
    }
    step = stop;
  }
  return false;
}

int64_t Levels::at(int32_t step) const {
  return levels_[schedule::at(step)] + blocks_[schedule::at(step / kBlock)].added;
}

int32_t Levels::highest() const {
  const auto block = std::max_element(blocks_.begin(), blocks_.end(),
                                      [](const Block& a, const Block& b) { return a.highest < b.highest; });
  const size_t begin = static_cast<size_t>(block - blocks_.begin()) * kBlock;
  for (size_t step = begin; step < levels_.size(); ++step)
    if (levels_[step] + block->added == block->highest) return static_cast<int32_t>(step);
  return static_cast<int32_t>(begin);
}

}  // namespace plimsoll::search
