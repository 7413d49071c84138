// --ema DECAY: an exponential moving average of the weights. Evaluations and saved models use it in place of the last
// weights, which move with the noise of single batches (Polyak and Juditsky 1992; as timm's ModelEmaV2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/program.h"
#include "runtime/train/parameters.h"

namespace plimsoll::train {

// Lives in host memory, outside the plan. Averages trained weights and running statistics; frozen weights do not
// change. Allocates nothing after construction.
class WeightAverage {
 public:
  WeightAverage(const Program& program, ParameterPort& port, double decay);

  // What an average takes of the host's memory.
  static int64_t bytes(const Program& program);
  static bool covers(const ProgramParameter& parameter);

  double decay() const { return decay_; }
  // The average becomes the current weights.
  void start();
  // average = decay * average + (1 - decay) * weights. Once after each iteration that moved the weights.
  void add();
  // Swaps the average and the weights of the arena. A second call swaps them back.
  void exchange();

  // Calls `work` while the arena has the average in place of the weights.
  void during(const std::function<void()>& work);

  // The averaged values of one parameter, in plain order. Before: covers(parameter).
  std::span<std::byte> values(const ProgramParameter& parameter);

 private:
  // Values of the parameter at index `parameter` of the program.
  struct Entry {
    size_t parameter;
    std::vector<float> values;
  };
  const Program& program_;
  ParameterPort& port_;
  double decay_;
  std::vector<Entry> entries_;
};

}  // namespace plimsoll::train
