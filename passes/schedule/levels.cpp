#include "passes/schedule/levels.h"

#include <algorithm>
#include <limits>

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

void Levels::assign(std::span<const int64_t> levels) {
  levels_.assign(levels.begin(), levels.end());
  blocks_.assign((levels.size() + kBlock - 1) / kBlock, {});
  groups_.assign((levels.size() + kGroup - 1) / kGroup, {});
  for (int32_t block = 0; block < static_cast<int32_t>(blocks_.size()); ++block) update_block(block);
  for (int32_t group = 0; group < static_cast<int32_t>(groups_.size()); ++group) update_group(group);
}

void Levels::update_block(int32_t block) {
  int64_t highest = std::numeric_limits<int64_t>::min();
  const int32_t end = std::min(steps(), (block + 1) * kBlock);
  for (int32_t step = block * kBlock; step < end; ++step) highest = std::max(highest, levels_[at(step)]);
  blocks_[at(block)].highest = highest + blocks_[at(block)].added;
}

void Levels::update_group(int32_t group) {
  constexpr int32_t kBlocks = kGroup / kBlock;
  int64_t highest = std::numeric_limits<int64_t>::min();
  const int32_t end = std::min(static_cast<int32_t>(blocks_.size()), (group + 1) * kBlocks);
  for (int32_t block = group * kBlocks; block < end; ++block) highest = std::max(highest, blocks_[at(block)].highest);
  groups_[at(group)].highest = highest + groups_[at(group)].added;
}

void Levels::add(int32_t begin, int32_t end, int64_t bytes) {
  for (int32_t from = begin; from < end;) {
    const int32_t group = from / kGroup, last = std::min(steps(), (group + 1) * kGroup), to = std::min(end, last);
    if (from == group * kGroup && to == last) groups_[at(group)].add(bytes);
    else add_in_group(from, to, bytes);
    from = to;
  }
}

void Levels::add_in_group(int32_t begin, int32_t end, int64_t bytes) {
  for (int32_t from = begin; from < end;) {
    const int32_t block = from / kBlock, last = std::min(steps(), (block + 1) * kBlock), to = std::min(end, last);
    if (from == block * kBlock && to == last) {
      blocks_[at(block)].add(bytes);
    } else {
      for (int32_t step = from; step < to; ++step) levels_[at(step)] += bytes;
      update_block(block);
    }
    from = to;
  }
  update_group(begin / kGroup);
}

int32_t Levels::first_above(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t from = begin; from < end;) {
    const Part& group = groups_[at(from / kGroup)];
    const int32_t to = std::min(end, (from / kGroup + 1) * kGroup);
    const int64_t most = limit - group.added;
    for (int32_t step = group.highest > limit ? from : to; step < to;) {
      const Part& block = blocks_[at(step / kBlock)];
      const int32_t stop = std::min(to, (step / kBlock + 1) * kBlock);
      for (; block.highest > most && step < stop; ++step)
        if (levels_[at(step)] + block.added > most) return step;
      step = stop;
    }
    from = to;
  }
  return std::max(begin, end);
}

int32_t Levels::after_last_above(int32_t begin, int32_t end, int64_t limit) const {
  for (int32_t to = end; to > begin;) {
    const Part& group = groups_[at((to - 1) / kGroup)];
    const int32_t from = std::max(begin, (to - 1) / kGroup * kGroup);
    const int64_t most = limit - group.added;
    for (int32_t step = group.highest > limit ? to : from; step > from;) {
      const Part& block = blocks_[at((step - 1) / kBlock)];
      const int32_t stop = std::max(from, (step - 1) / kBlock * kBlock);
      for (; block.highest > most && step > stop; --step)
        if (levels_[at(step - 1)] + block.added > most) return step;
      step = stop;
    }
    to = from;
  }
  return begin;
}

int64_t Levels::operator[](int32_t step) const {
  return levels_[at(step)] + blocks_[at(step / kBlock)].added + groups_[at(step / kGroup)].added;
}

int32_t Levels::highest() const {
  const auto group = std::ranges::max_element(groups_, {}, &Part::highest);
  int32_t step = static_cast<int32_t>(group - groups_.begin()) * kGroup;
  while (blocks_[at(step / kBlock)].highest + group->added != group->highest) step += kBlock;
  while ((*this)[step] != group->highest) ++step;
  return step;
}

}  // namespace plimsoll::schedule
