// Where the numbers of a round went wrong.
#pragma once

#include <string>
#include <string_view>

#include "runtime/backend.h"
#include "runtime/streams.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

// How a text ends that is of a sample, whichever rank said it.
inline constexpr std::string_view kInTheData = " in the data";

struct Diagnosis {
  std::string text = {};    // "": every tensor of the forward part is finite
  bool persistent = false;  // it is a weight or of the optimizer's state: bad since an iteration before
};

// The first tensor of the round that holds what is no finite number, as a clause: "'conv1.Y' of layer 'conv1' (step 4)
// holds NaN (12 of 4096 elements)". Looks at weights, then at the samples, then plays the forward part once more,
// step by step in the order of issue, on the default stream, with side effects left out.
// Before: the round has ended, and no weight was moved since it began. Slow, and needs nothing of a backend but its kernels
// and copies.
Diagnosis first_bad_tensor(const Program& program, const Round& round, const backend::Arena& arena, backend::HostPool* pool,
                           const RoundJob& job);

// "the loss is nan in iteration 12: 'conv1.Y' of layer 'conv1' (step 3) holds NaN (12 of 4096 elements)"
std::string what_went_wrong(const IterationResult& result, const std::string& bad);

// Ends the run with that as a TrainerError, and `way_out`.
[[noreturn]] void diverged(const IterationResult& result, const std::string& bad, const char* way_out);

}  // namespace plimsoll::train
