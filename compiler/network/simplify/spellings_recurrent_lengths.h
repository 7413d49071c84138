// Sequences of different lengths in an LSTM, GRU or RNN (sequence_lens), which are padded to the same number of steps.
//
//   step        0 1 2 3 4 5
//   sample 0    x x x x x x     6 steps
//   sample 1    x x x · · ·     3 steps: "·" has no step; its inputs are padding
//
// Y is 0 where a sample has no step. A forward direction ends with the state of the last step of each sample. A
// backward direction begins each sample at its last step, with the first state.
#pragma once

#include <map>
#include <string>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling::recurrence {

class Lengths {
 public:
  // Of the node's input 4.
  Lengths(Writer& writer, int64_t steps) : w_(writer), steps_(steps) {}

  // False if all sequences have all steps.
  bool differ() const;

  // Of one step, [N, …]: `value` for the samples that have step t, `other` (empty: zero) for all others.
  std::string where_step(size_t t, const std::string& value, const std::string& other);

  // Of all steps, [steps, N, …]: x where a sample has a step, elsewhere the number.
  std::string where_steps(const std::string& x, float other);
  // [N, …]: of each sample, what its last step has; `first` (empty: zero) if it has no step.
  std::string at_last_step(const std::string& x, const std::string& first);

 private:
  // Masks, written on first use.
  const std::string& has_step(size_t t);  // [N, 1]
  const std::string& ends();              // [steps, N]: 1 at the last step of each sample, else 0
  std::string is_set(const std::string& mask);

  Writer& w_;
  const int64_t steps_;
  std::map<size_t, std::string> of_step_ = {};
  std::string ends_ = {}, steps_of_samples_ = {}, is_last_ = {};
};

}  // namespace plimsoll::spelling::recurrence
