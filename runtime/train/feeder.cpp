#include "runtime/train/feeder.h"

#include <numeric>
#include <utility>

#include "runtime/train/random.h"

namespace plimsoll::train {

Feeder::Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed)
    : program_(program), dataset_(dataset), shuffle_(shuffle), seed_(seed),
      order_(static_cast<size_t>(dataset.samples)) {
  std::iota(order_.begin(), order_.end(), 0);
  for (const ProgramInput& input : program.inputs) {
    staging_.emplace_back(static_cast<size_t>(input.desc.bytes()));
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
    const int64_t bytes = sample_bytes(program_.inputs[input]);
    std::byte* to = staging_[input].data();
    for (int64_t i = 0; i < count; ++i, to += bytes)
      dataset_.columns[input]->read(order_[static_cast<size_t>(first + i)], to);
  }
}

}  // namespace plimsoll::train
