// Which samples come when, and their way to where the load steps take them from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/dataset.h"

namespace plimsoll::train {

// A permutation of the samples for every epoch, a function of seed and epoch. Allocates nothing after construction.
class Feeder {
 public:
  Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed);
  void begin_epoch(int64_t epoch);
  // Fetches samples [first, first + count) of the epoch's order; count is at most a sub-batch. Beyond the last sample
  // there are copies of it labelled -1: the loss counts them nowhere.
  void stage(int64_t first, int64_t count);
  // Per input: the staged samples, one after the other.
  std::span<const std::byte* const> staged() const { return pointers_; }

 private:
  const Program& program_;
  Dataset& dataset_;
  bool shuffle_;
  uint64_t seed_;
  std::vector<int64_t> order_;
  std::vector<backend::StagingBuffer> staging_;
  std::vector<const std::byte*> pointers_;
};

}  // namespace plimsoll::train
