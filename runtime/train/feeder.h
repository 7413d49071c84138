// Decides the order of samples and stages them for the load steps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "runtime/backend.h"
#include "runtime/dist/ranks.h"
#include "runtime/program.h"
#include "runtime/streams.h"
#include "runtime/train/dataset.h"
#include "runtime/train/mixing.h"
#include "runtime/train/workers.h"

namespace plimsoll::train {

// Positions [first, first + count) of an epoch's order.
struct Samples {
  int64_t first = 0, count = 0;
  friend bool operator==(const Samples&, const Samples&) = default;
};

// Feeds samples in an order that is a permutation for every epoch, a function of seed and epoch. While a round is
// played, a thread fetches the samples of the next one. Allocates nothing after construction.
class Feeder {
 public:
  struct Setup {
    int64_t workers = 1;    // threads that fetch samples; the result does not depend on their number
    MixOptions mixing = {};  // of training
  };
  // `pulse`: of several ranks; is told of each sample.
  Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse, const Setup& setup);
  Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse = nullptr)
      : Feeder(program, dataset, shuffle, seed, pulse, Setup{}) {}
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void begin_epoch(int64_t epoch);
  // Stages `now`, of at most one sub-batch. Positions after the last sample get copies of it with label -1, which the
  // loss ignores. Starts to fetch `next`, the samples of the next call; count 0: none. Throws what reading a sample
  // throws.
  void stage(const Samples& now, const Samples& next);
  // The number of labels of these samples that the loss counts.
  int64_t counted_labels(const Samples& samples) const;
  // The sum of the weights of these samples' labels in this input; if it has no labels, the number of its elements.
  double label_weight(size_t input, const Samples& samples) const;
  // The first staged input that holds NaN or infinity, or -1. The loss does not always show it, because a Relu of NaN
  // may be 0; the gradients of the weights are NaN even then.
  int64_t bad_input() const { return sets_[at_hand_].bad_input; }
  // For each input, the staged samples one after the other. Valid until the next stage().
  std::span<const std::byte* const> staged() const { return sets_[at_hand_].pointers; }
  uint64_t number() const { return sets_[at_hand_].number; }  // of what is staged; every fetch has another
  // What the thread is fetching, for a device that copies it while a round runs.
  StagedAhead next() const;

 private:
  // One buffer per input.
  struct Set {
    std::vector<backend::StagingBuffer> buffers;
    std::vector<const std::byte*> pointers;
    int64_t bad_input = -1;
    uint64_t number = 0;
  };
  void fetch(const Samples& samples, Set& to);
  void fetch_sample(size_t input, int64_t position, int64_t row, std::byte* to);
  int64_t row_at(int64_t position) const;
  // The sample whose label is used at this position; if labels are drawn, it may be another one.
  int64_t label_row_at(int64_t position) const;
  Mix mix_at(int64_t row) const;
  bool mixes_labels() const { return mixing_.on() && program_.inputs.back().mixed_labels; }
  MixedLabel mixed_label_at(int64_t row) const;
  void serve();
  void wait_for_thread(std::unique_lock<std::mutex>& lock) const;

  const Program& program_;
  Dataset& dataset_;
  bool shuffle_;
  uint64_t seed_;
  dist::Pulse* pulse_;
  MixOptions mixing_;
  uint64_t epoch_key_ = 0;
  Workers workers_;
  std::vector<int64_t> order_;
  Set sets_[2];
  size_t at_hand_ = 0;
  uint64_t fetches_ = 0;

  // While `busy_`, the thread owns the other set, the order and the dataset; at all other times, the caller does.
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Samples ahead_;  // what the other set holds or will hold; count 0: nothing
  bool busy_ = false, ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace plimsoll::train
