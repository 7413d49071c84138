// --batch and --sub-batch of a trainer: other numbers of samples than it was compiled for.
//
// A plan says what happens in one round. So a run may have more or fewer rounds, and rounds of fewer samples than
// planned: no tensor is larger then, and every step is the same. What cannot change without compiling again:
//
//   a sub-batch above the planned one    its tensors would be larger than their places in the arena
//   several rounds, where one was planned    gradients do not add up over rounds then: their memory is used again
//   any size, where the model computes with its samples among each other    its steps are for one size
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/program.h"

namespace plimsoll::train {

struct BatchOptions {
  std::optional<int64_t> batch = {}, sub_batch = {};  // of all ranks together
};

// The program with these numbers in place of its own. Kernels still divide by the batch that they were compiled for:
// see Machine::Setup::kernel_batch. Throws TrainerError (usage), saying what the plan allows.
Program with_batch(const Program& compiled, const BatchOptions& options);

}  // namespace plimsoll::train
