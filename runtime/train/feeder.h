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
#include "runtime/train/mixing.h"
#include "runtime/train/workers.h"

namespace plimsoll::train {

// Samples [first, first + count) of an epoch's order.
struct Samples {
  int64_t first = 0, count = 0;
  friend bool operator==(const Samples&, const Samples&) = default;
};

// Feeds samples in an order that is a permutation for every epoch, a function of seed and epoch. While a round is played, a
// thread fetches the samples of the next one. Allocates nothing after construction.
class Feeder {
 public:
  struct Setup {
    int64_t workers = 1;    // threads that fetch samples; the result does not depend on their number
    MixOptions mixing = {};  // of training
  };
  // `pulse`: of several ranks, hears of each sample.
  Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse, const Setup& setup);
  Feeder(const Program& program, Dataset& dataset, bool shuffle, uint64_t seed, dist::Pulse* pulse = nullptr)
      : Feeder(program, dataset, shuffle, seed, pulse, Setup{}) {}
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
  void fetch_sample(size_t input, int64_t position, int64_t row, std::byte* to);
  int64_t row_at(int64_t position) const;
  // The sample whose label counts at this position: where samples are mixed, it may be another's.
  int64_t label_row_at(int64_t position) const;
  Mix mix_at(int64_t row) const;
  void serve();
  void wait_for_thread(std::unique_lock<std::mutex>& lock);

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

  // The thread owns the other set, the order and the dataset while `busy_`; the caller at all other times.
  std::mutex mutex_;
  std::condition_variable changed_;
  Samples ahead_;  // what the other set holds, or shall hold; count 0: nothing
  bool busy_ = false, ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace plimsoll::train
