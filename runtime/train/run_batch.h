// --batch and --sub-batch of a trainer: a run with other numbers of samples than the plan.
//
// A plan describes one round. So a run may have more or fewer rounds, and rounds with fewer samples than planned: all
// steps are the same, and no tensor is larger. These changes need another plan:
//
//   a larger sub-batch                      its tensors do not fit their places in the arena
//   several rounds instead of one           without gradient accumulation, the memory of gradients is reused
//   any change, if whole_batches_only       the steps are for one number of samples
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/program.h"

namespace plimsoll::train {

struct BatchOptions {
  std::optional<int64_t> batch = {}, sub_batch = {};  // of all ranks together
};

// The program with these numbers of samples. Loss kernels still divide by the compiled batch: see
// Machine::Setup::compiled. Throws TrainerError (usage) that says what the plan allows.
Program with_batch(const Program& compiled, const BatchOptions& options);

}  // namespace plimsoll::train
