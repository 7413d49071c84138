#include "runtime/train/feeder.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/train/random.h"

namespace plimsoll::train {

Feeder::Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse)
    : program_(program), dataset_(dataset), shuffle_(shuffle), seed_(seed), pulse_(pulse),
      order_(static_cast<size_t>(dataset.samples)) {
  std::iota(order_.begin(), order_.end(), 0);
  for (Set& set : sets_)
    for (const ProgramInput& input : program.inputs) {
      set.buffers.emplace_back(input.desc.bytes());
      set.pointers.push_back(set.buffers.back().data());
    }
  thread_ = std::thread([this] { serve(); });
}

Feeder::~Feeder() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Feeder::wait_for_thread(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return !busy_; });
}

// Fisher and Yates, from the identity each time: the order of an epoch does not depend on those before it.
void Feeder::begin_epoch(int64_t epoch) {
  std::unique_lock lock(mutex_);
  wait_for_thread(lock);
  ahead_ = {};
  const uint64_t key = random_bits(seed_, static_cast<uint64_t>(epoch));
  for (const auto& column : dataset_.columns) column->begin_epoch(key);
  if (!shuffle_) return;
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_bits(key, i) % i]);
}

void Feeder::stage(const Samples& now, const Samples& next) {
  std::unique_lock lock(mutex_);
  wait_for_thread(lock);
  if (ahead_ == now && now.count > 0) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    at_hand_ = 1 - at_hand_;
  } else {
    fetch(now, sets_[at_hand_]);
  }
  failure_ = nullptr;
  ahead_ = next;
  if (next.count == 0) return;
  busy_ = true;
  changed_.notify_all();
}

int64_t Feeder::counted_labels(const Samples& samples) const {
  if (dataset_.counted_labels.empty()) return samples.count * labels_per_sample(program_);
  int64_t count = 0;
  for (int64_t i = samples.first; i < samples.first + samples.count; ++i)
    count += dataset_.counted_labels[static_cast<size_t>(order_[static_cast<size_t>(i)])];
  return count;
}

double Feeder::label_weight(size_t input, const Samples& samples) const {
  const std::vector<double>* const weights = input < dataset_.label_weights.size() ? &dataset_.label_weights[input] : nullptr;
  if (!weights || weights->empty()) return static_cast<double>(samples.count * labels_of_sample(program_.inputs[input]));
  double sum = 0;
  for (int64_t i = samples.first; i < samples.first + samples.count; ++i)
    sum += (*weights)[static_cast<size_t>(order_[static_cast<size_t>(i)])];
  return sum;
}

void Feeder::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return busy_ || ending_; });
    if (ending_) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      fetch(ahead_, sets_[1 - at_hand_]);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

namespace {

bool all_finite(const std::byte* values, int64_t bytes) {
  const float* const x = reinterpret_cast<const float*>(values);
  uint32_t worst = 0;  // the largest exponent
  for (int64_t i = 0; i < bytes / 4; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    worst = std::max(worst, bits & 0x7f800000u);
  }
  return worst != 0x7f800000u;
}

}  // namespace

void Feeder::fetch(const Samples& samples, Set& to) {
  to.bad_input = -1;
  for (size_t input = 0; input < to.buffers.size(); ++input) {
    const ProgramInput& to_feed = program_.inputs[input];
    const bool labels = input + 1 == to.buffers.size() && (to_feed.desc.type == DataType::i32 || to_feed.desc.type == DataType::i64);
    const int64_t bytes = sample_bytes(to_feed), rows = to_feed.per_sample ? samples.count : 1;
    std::byte* at = to.buffers[input].data();
    for (int64_t i = samples.first; i < samples.first + rows; ++i, at += bytes) {
      const int64_t row = to_feed.per_sample ? order_[static_cast<size_t>(std::min(i, dataset_.samples - 1))] : 0;
      dataset_.columns[input]->read(row, at);
      if (labels && i >= dataset_.samples) std::memset(at, 0xff, static_cast<size_t>(bytes));  // -1 of either width
      if (pulse_) pulse_->beat();
    }
    if (to_feed.desc.type == DataType::f32 && to.bad_input < 0 &&
        !all_finite(to.buffers[input].data(), rows * bytes))
      to.bad_input = static_cast<int64_t>(input);
  }
}

}  // namespace plimsoll::train
