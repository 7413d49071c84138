// The price of recomputing a tensor, in seconds or in seconds per byte. All parts of the search use these functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "passes/search/names.h"

namespace plimsoll::search {

// Seconds per byte of one more run of the task that writes the tensor. Requires a producer.
inline double price_of_one_run(const Model& model, const ModelTensor& tensor) {
  return model.seconds_again(tensor.producer) / static_cast<double>(std::max<int64_t>(tensor.bytes, 1));
}

// Prices chains of recomputations: all tasks between a tensor and the nearest resident tensors. Reusable for one model,
// which must outlive this.
class RecomputePrice {
 public:
  explicit RecomputePrice(const Model& model) : model_(model), seen_(model.tasks.size(), 0) {}

  // Seconds to recompute the tensor; negative if that is impossible. `away(id)`: the tensor is not resident either, so
  // its task runs too. `runs(task)`: the task is recomputed already, which costs nothing more. Only the nearest tasks
  // count, because prices are only compared with each other.
  template <class Away, class Runs>
  double seconds(int32_t tensor, Away away, Runs runs) {
    constexpr int kNearest = 64;  // tensors visited
    ++stamp_;
    double seconds = 0;
    stack_.assign(1, tensor);
    for (int visited = 0; !stack_.empty() && visited < kNearest; ++visited) {
      const ModelTensor& wanted = model_.tensor(stack_.back());
      stack_.pop_back();
      if (wanted.input()) continue;
      if (!wanted.recomputable) return -1;
      if (seen_[at(wanted.producer)] == stamp_) continue;
      seen_[at(wanted.producer)] = stamp_;
      if (!runs(wanted.producer)) seconds += model_.seconds_again(wanted.producer);
      for (const int32_t read : model_.reads(wanted.producer))
        if (away(read)) stack_.push_back(read);
    }
    return seconds;
  }

  // The same, assuming that every tensor that the backward accesses is resident and no other task is recomputed.
  double seconds(int32_t tensor) {
    const auto forward_only = [&](int32_t id) {
      return model_.tensor(id).movable && model_.tensor(id).gap_end == kNever;
    };
    return seconds(tensor, forward_only, [](int32_t) { return false; });
  }

 private:
  const Model& model_;
  std::vector<int32_t> seen_;  // of each task: the stamp of the last walk that visited it
  int32_t stamp_ = 0;
  std::vector<int32_t> stack_;
};

}  // namespace plimsoll::search
