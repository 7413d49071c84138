#include "runtime/train/feeder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/train/random.h"

namespace plimsoll::train {

Feeder::Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed)
    : program_(program), dataset_(dataset), shuffle_(shuffle), seed_(seed),
      order_(static_cast<size_t>(dataset.samples)) {
  std::iota(order_.begin(), order_.end(), 0);
  for (const ProgramInput& input : program.inputs) {
    staging_.emplace_back(input.desc.bytes());
    pointers_.push_back(staging_.back().data());
  }
}

// Fisher and Yates, from the identity each time: the order of an epoch does not depend on those before it.
void Feeder::begin_epoch(int64_t epoch) {
  if (!shuffle_) return;
  std::iota(order_.begin(), order_.end(), 0);
  const uint64_t key = random_bits(seed_, static_cast<uint64_t>(epoch));
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_bits(key, i) % i]);
}

void Feeder::stage(int64_t first, int64_t count) {
  for (size_t input = 0; input < staging_.size(); ++input) {
    const ProgramInput& to_feed = program_.inputs[input];
    const bool labels = to_feed.desc.type == DataType::i32 || to_feed.desc.type == DataType::i64;
    const int64_t bytes = sample_bytes(to_feed);
    std::byte* to = staging_[input].data();
    for (int64_t i = first; i < first + count; ++i, to += bytes) {
      dataset_.columns[input]->read(order_[static_cast<size_t>(std::min(i, dataset_.samples - 1))], to);
      if (labels && i >= dataset_.samples) std::memset(to, 0xff, static_cast<size_t>(bytes));  // -1 of either width
    }
  }
}

}  // namespace plimsoll::train
