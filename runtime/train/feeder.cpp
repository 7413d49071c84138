#include "runtime/train/feeder.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/train/random.h"

namespace plimsoll::train {

Feeder::Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse,
               const Setup& setup)
    : program_(program),
      dataset_(dataset),
      shuffle_(shuffle),
      seed_(seed),
      pulse_(pulse),
      mixing_(setup.mixing),
      workers_(setup.workers),
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

void Feeder::wait_for_thread(std::unique_lock<std::mutex>& lock) const {
  changed_.wait(lock, [this] { return !busy_; });
}

// Fisher-Yates shuffle, from the identity each time, so that an epoch's order does not depend on earlier epochs.
void Feeder::begin_epoch(int64_t epoch) {
  std::unique_lock lock(mutex_);
  wait_for_thread(lock);
  ahead_ = {};
  const uint64_t key = random_bits(seed_, static_cast<uint64_t>(epoch));
  epoch_key_ = key;
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
    sets_[at_hand_].number = ++fetches_;
    fetch(now, sets_[at_hand_]);
  }
  failure_ = nullptr;
  ahead_ = next;
  if (next.count == 0) return;
  sets_[1 - at_hand_].number = ++fetches_;
  busy_ = true;
  changed_.notify_all();
}

StagedAhead Feeder::next() const {
  if (ahead_.count == 0) return {};
  const Set& set = sets_[1 - at_hand_];
  constexpr auto wait = [](const void* feeder) {
    const Feeder& self = *static_cast<const Feeder*>(feeder);
    std::unique_lock lock(self.mutex_);
    self.wait_for_thread(lock);
  };
  return {.staged = set.pointers, .number = set.number, .wait = wait, .waits_for = this};
}

int64_t Feeder::counted_labels(const Samples& samples) const {
  if (dataset_.counted_labels.empty()) return samples.count * labels_per_sample(program_);
  int64_t count = 0;
  for (int64_t i = samples.first; i < samples.first + samples.count; ++i) {
    int32_t of_sample = dataset_.counted_labels[static_cast<size_t>(label_row_at(i))];
    // A mixed sample counts if one of its two labels does.
    if (mixes_labels())
      of_sample = std::max(of_sample, dataset_.counted_labels[static_cast<size_t>(mix_at(row_at(i)).other)]);
    count += of_sample;
  }
  return count;
}

double Feeder::label_weight(size_t input, const Samples& samples) const {
  const std::vector<double>* const weights =
      input < dataset_.label_weights.size() ? &dataset_.label_weights[input] : nullptr;
  if (!weights || weights->empty())
    return static_cast<double>(samples.count * labels_of_sample(program_.inputs[input]));
  double sum = 0;
  for (int64_t i = samples.first; i < samples.first + samples.count; ++i) {
    const double own = (*weights)[static_cast<size_t>(label_row_at(i))];
    if (!mixes_labels()) {
      sum += own;
      continue;
    }
    const Mix mix = mix_at(row_at(i));
    sum += mix.own * own + (1 - mix.own) * (*weights)[static_cast<size_t>(mix.other)];
  }
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

int64_t Feeder::row_at(int64_t position) const {
  return order_[static_cast<size_t>(std::min(position, dataset_.samples - 1))];
}

Mix Feeder::mix_at(int64_t row) const {
  return mix_of(mixing_, epoch_key_, row, dataset_.samples, program_.inputs[0].desc);
}

int64_t Feeder::label_row_at(int64_t position) const {
  const int64_t row = row_at(position);
  if (!mixing_.on() || mixes_labels()) return row;
  const Mix mix = mix_at(row);
  return mix.keeps_label ? row : mix.other;
}

MixedLabel Feeder::mixed_label_at(int64_t row) const {
  const auto class_of = [&](int64_t sample) {
    int32_t label = 0;
    dataset_.columns.back()->read(sample, reinterpret_cast<std::byte*>(&label));
    return label;
  };
  if (!mixing_.on()) return {.own = class_of(row)};
  const Mix mix = mix_at(row);
  return {.own = class_of(row), .other = class_of(mix.other), .share = share_of_other(mix)};
}

void Feeder::fetch_sample(size_t input, int64_t position, int64_t row, std::byte* to) {
  const ProgramInput& to_feed = program_.inputs[input];
  const bool is_last = input + 1 == program_.inputs.size(), real = to_feed.desc.type == DataType::f32;
  Column& column = *dataset_.columns[input];
  if (to_feed.mixed_labels) {
    const MixedLabel label = mixed_label_at(row);
    std::memcpy(to, &label, sizeof label);
    return;
  }
  if (!mixing_.on() || (is_last && !real)) {
    column.read(is_last && to_feed.per_sample ? label_row_at(position) : row, to);
    return;
  }
  // check_mixing: there are two inputs, the samples and what their labels are.
  const Mix mix = mix_at(row);
  const int64_t bytes = sample_bytes(to_feed);
  thread_local std::vector<float> other;
  other.resize(static_cast<size_t>(bytes) / sizeof(float));
  column.read(row, to);
  column.read(mix.other, reinterpret_cast<std::byte*>(other.data()));
  if (is_last) mix_targets(mix, static_cast<int64_t>(other.size()), reinterpret_cast<float*>(to), other.data());
  else mix_samples(mix, to_feed.desc, reinterpret_cast<float*>(to), other.data());
}

void Feeder::fetch(const Samples& samples, Set& to) {
  const auto inputs = static_cast<int64_t>(to.buffers.size());
  std::atomic<int64_t> bad_input = inputs;
  workers_.run(inputs * samples.count, [&](int64_t item) {
    // An input that is the same for all samples is read only once.
    const auto input = static_cast<size_t>(item / samples.count);
    const int64_t i = item % samples.count, position = samples.first + i;
    const ProgramInput& to_feed = program_.inputs[input];
    if (!to_feed.per_sample && i > 0) return;
    const bool real = to_feed.desc.type == DataType::f32;
    const int64_t bytes = sample_bytes(to_feed);
    std::byte* const at = to.buffers[input].data() + i * bytes;
    fetch_sample(input, position, to_feed.per_sample ? row_at(position) : 0, at);
    const bool labels =
        input + 1 == to.buffers.size() && (to_feed.desc.type == DataType::i32 || to_feed.desc.type == DataType::i64);
    // -1 of either width.
    if (labels && position >= dataset_.samples) std::memset(at, 0xff, static_cast<size_t>(bytes));
    if (real && !all_finite(at, bytes)) {
      for (int64_t first = bad_input; static_cast<int64_t>(input) < first;)
        if (bad_input.compare_exchange_weak(first, static_cast<int64_t>(input))) break;
    }
    if (pulse_) pulse_->beat();
  });
  to.bad_input = bad_input == inputs ? -1 : bad_input.load();
}

}  // namespace plimsoll::train
