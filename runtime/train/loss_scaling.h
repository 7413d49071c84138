// Dynamic loss scaling, for trainers in fp16, with the rules of torch.amp.GradScaler: the gradient of the loss is
// multiplied by a scale, so that small gradients are not rounded to zero. If a weight's gradient is then not finite,
// the iteration changes no weight, no optimizer state and no step count, and the scale is halved. After a number of
// iterations without such a gradient it is doubled.
//
//   scale   65536  32768  32768  …  32768  65536        initial 65536, a growth interval of 2000
//           skip   1      2         2000   1
//
// Running statistics of batch normalization are those of the skipped iteration, too, as in PyTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/program.h"

namespace plimsoll::train {

struct ScalingOptions {
  std::optional<double> initial = {};           // of --init-scale; absent: 65536
  std::optional<int64_t> growth_interval = {};  // of --growth-interval; absent: 2000
};

// The state of a run, which checkpoints hold.
struct LossScaling {
  double scale = 0;     // of the next iteration; 0: the trainer does not scale
  int64_t good = 0;     // iterations without a skip since the scale has changed
  int64_t skipped = 0;  // of all iterations
};

// Throws TrainerError (usage) if one of the options is given, and the trainer does not scale.
LossScaling scaling_at_start(const Program& program, const ScalingOptions& options);

// At the end of an iteration; `overflowed`: a gradient was not finite. False: the scale cannot be halved any more, so
// it is not the scale that makes gradients overflow.
bool scaled(LossScaling& scaling, bool overflowed, const ScalingOptions& options);

// "loss scale 32768, updates of 2 of 100 iterations skipped"
std::string in_words(const LossScaling& scaling, int64_t iterations);

}  // namespace plimsoll::train
