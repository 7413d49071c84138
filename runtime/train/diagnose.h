// Finds the first tensor of a round that holds NaN or infinity.
#pragma once

#include <string>
#include <string_view>

#include "runtime/backend.h"
#include "runtime/streams.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

// The end of a diagnosis that blames a sample, on any rank.
inline constexpr std::string_view kInTheData = " in the data";

// The beginning of a diagnosis that blames an index or a label that the model computes.
inline constexpr std::string_view kComputedByModel = "the model computes ";

struct Diagnosis {
  std::string text = {};    // "": all tensors of the forward pass are finite
  bool persistent = false;  // a weight or optimizer state, which was bad before this iteration
};

// Returns the first tensor with NaN or infinity as a clause: "'conv1.Y' of layer 'conv1' (step 4) holds NaN (12 of 4096
// elements)". Checks the weights, then the samples. Then it runs the forward pass again, step by step in the order of
// issue, on the default stream, without side effects. An index out of range is the cause of the NaN that it selects:
// "the model computes index 9 for 'pick.Y' of layer 'pick' (step 4), but the axis has size 5". Before: the round has
// ended, and no weight has changed since its start. Slow. Uses only kernels and copies of a backend.
Diagnosis first_bad_tensor(const Program& program, const Round& round, const backend::Arena& arena,
                           backend::HostPool* pool, const RoundJob& job);

// "the loss is nan in iteration 12: 'conv1.Y' of layer 'conv1' (step 3) holds NaN (12 of 4096 elements)"
std::string what_went_wrong(const IterationResult& result, const std::string& bad);

// Throws that text as a TrainerError, with the hint `way_out` at its end.
[[noreturn]] void diverged(const IterationResult& result, const std::string& bad, const char* way_out);

}  // namespace plimsoll::train
