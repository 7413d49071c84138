#include "passes/schedule/levels.h"

#include <algorithm>
#include <limits>

#include "passes/schedule/model.h"

namespace plimsoll::schedule {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

}  // namespace

void Levels::assign(std::span<const int64_t> levels) {
  levels_.assign(levels.begin(), levels.end());
  blocks_.assign((levels.size() + kBlock - 1) / kBlock, {.highest = kLowest});
  for (size_t step = 0; step < levels.size(); ++step)
    blocks_[step / kBlock].highest = std::max(blocks_[step / kBlock].highest, levels[step]);
}

// If levels rise, the highest of the block is the one that it was or one of those that rise.
void Levels::add_within(size_t block, int32_t begin, int32_t end, int64_t bytes) {
  int64_t& highest = blocks_[block].highest;
  if (bytes < 0) highest = kLowest;
  for (int32_t step = begin; step < end; ++step) levels_[schedule::at(step)] += bytes;
  const size_t first = bytes < 0 ? block * kBlock : schedule::at(begin),
               last = bytes < 0 ? std::min(levels_.size(), (block + 1) * kBlock) : schedule::at(end);
  for (size_t step = first; step < last; ++step) highest = std::max(highest, levels_[step] + blocks_[block].added);
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

int32_t Levels::first_above(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t step = begin; step < end;) {
    const Block& block = blocks_[schedule::at(step / kBlock)];
    const int32_t stop = std::min(end, (step / kBlock + 1) * kBlock);
    if (block.highest <= limit) step = stop;
    for (; step < stop; ++step)
      if (levels_[schedule::at(step)] + block.added > limit) return step;
  }
  return std::max(begin, end);
}

int32_t Levels::after_last_above(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t step = end; step > begin;) {
    const Block& block = blocks_[schedule::at((step - 1) / kBlock)];
    const int32_t stop = std::max(begin, (step - 1) / kBlock * kBlock);
    if (block.highest <= limit) step = stop;
    for (; step > stop; --step)
      if (levels_[schedule::at(step - 1)] + block.added > limit) return step;
  }
  return begin;
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

}  // namespace plimsoll::schedule
