#include "passes/schedule/levels.h"

#include <bit>
#include <limits>

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

void Levels::assign(std::span<const int64_t> levels) {
  levels_.assign(levels.begin(), levels.end());
  shift_ = static_cast<int32_t>(std::bit_width(levels.size())) / 2;
  blocks_.assign((levels.size() >> shift_) + 1, {});
  for (int32_t block = 0; block < static_cast<int32_t>(blocks_.size()); ++block) update(block);
}

void Levels::update(int32_t block) {
  int64_t highest = std::numeric_limits<int64_t>::min();
  for (int32_t step = begin_of(block); step < end_of(block); ++step) highest = std::max(highest, levels_[at(step)]);
  blocks_[at(block)].highest = highest + blocks_[at(block)].added;
}

void Levels::add(int32_t begin, int32_t end, int64_t bytes) {
  for (int32_t from = begin; from < end;) {
    const int32_t block = block_of(from), to = std::min(end, end_of(block));
    if (from == begin_of(block) && to == end_of(block)) {
      blocks_[at(block)].added += bytes;
      blocks_[at(block)].highest += bytes;
    } else {
      int64_t changed = std::numeric_limits<int64_t>::min();
      for (int32_t step = from; step < to; ++step) changed = std::max(changed, levels_[at(step)] += bytes);
      if (bytes < 0) update(block);
      else blocks_[at(block)].highest = std::max(blocks_[at(block)].highest, changed + blocks_[at(block)].added);
    }
    from = to;
  }
}

int32_t Levels::first_above(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t step = begin; step < end;) {
    const Block& block = blocks_[at(block_of(step))];
    const int32_t stop = std::min(end, end_of(block_of(step)));
    for (; block.highest > limit && step < stop; ++step)
      if (levels_[at(step)] + block.added > limit) return step;
    step = stop;
  }
  return std::max(begin, end);
}

int32_t Levels::after_last_above(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t step = end; step > begin;) {
    const Block& block = blocks_[at(block_of(step - 1))];
    const int32_t stop = std::max(begin, begin_of(block_of(step - 1)));
    for (; block.highest > limit && step > stop; --step)
      if (levels_[at(step - 1)] + block.added > limit) return step;
    step = stop;
  }
  return begin;
}

int64_t Levels::operator[](int32_t step) const { return levels_[at(step)] + blocks_[at(block_of(step))].added; }

int32_t Levels::highest() const {
  const auto block = std::ranges::max_element(blocks_, {}, &Block::highest);
  int32_t step = begin_of(static_cast<int32_t>(block - blocks_.begin()));
  while ((*this)[step] != block->highest) ++step;
  return step;
}

}  // namespace plimsoll::schedule
