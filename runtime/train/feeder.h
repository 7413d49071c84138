// Which samples come when, and their way to where the load steps take them from.
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
#include "runtime/train/dataset.h"

namespace plimsoll::train {

// Samples [first, first + count) of an epoch's order.
struct Samples {
  int64_t first = 0, count = 0;
  friend bool operator==(const Samples&, const Samples&) = default;
};

// A permutation of the samples for every epoch, a function of seed and epoch. While a round is played, a thread fetches
// what the next one takes. Allocates nothing after construction.
class Feeder {
 public:
  // `pulse`: of several ranks, hears of each sample.
  Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse = nullptr);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void begin_epoch(int64_t epoch);
  // Afterwards `now` is staged; count is at most a sub-batch. Beyond the last sample there are copies of it labelled -1:
  // the loss counts them nowhere. `next` is what will be asked for next, count 0 if nothing: it is fetched meanwhile.
  // Throws what reading a sample throws.
  void stage(const Samples& now, const Samples& next);
  // Of those samples, the labels that the loss counts.
  int64_t counted_labels(const Samples& samples) const;
  // Of those samples, what the labels of this input count for together; of an input of no labels, as many as there are numbers.
  double label_weight(size_t input, const Samples& samples) const;
  // The first staged input that holds what is no finite number, or -1. A network can lose it on its way to the loss, for a
  // Relu of NaN may be 0, while the gradients of its weights cannot.
  int64_t bad_input() const { return sets_[at_hand_].bad_input; }
  // Per input: the staged samples, one after the other, until the next stage().
  std::span<const std::byte* const> staged() const { return sets_[at_hand_].pointers; }

 private:
  // One buffer per input.
  struct Set {
    std::vector<backend::StagingBuffer> buffers;
    std::vector<const std::byte*> pointers;
    int64_t bad_input = -1;
  };
  void fetch(const Samples& samples, Set& to);
  void serve();
  void wait_for_thread(std::unique_lock<std::mutex>& lock);

  const Program& program_;
  Dataset& dataset_;
  bool shuffle_;
  uint64_t seed_;
  dist::Pulse* pulse_;
  std::vector<int64_t> order_;
  Set sets_[2];
  size_t at_hand_ = 0;

  // The thread owns the other set, the order and the dataset while `busy_`; the caller at all other times.
  std::mutex mutex_;
  std::condition_variable changed_;
  Samples ahead_;  // what the other set holds, or shall hold; count 0: nothing
  bool busy_ = false, ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace plimsoll::train
