// Bias operations for convolutions that do not include them. Tensors are [samples, channels, plane], or channels last
// [samples, plane, channels]. Everything is deterministic: the order of summation depends only on the shape.
#pragma once

#include "runtime/kernel.h"

namespace plimsoll::cuda {

struct Planes {
  int64_t samples = 0, channels = 0, plane = 0;
  bool channels_last = false;
};

// y += b[channel], and then y = max(y, 0) with `relu`. `b` may be nullptr.
void add_bias(const RunContext& context, float* y, const float* b, bool relu, const Planes& shape);

// db[channel] = Σ dy over samples and plane, or += with `accumulate`. `workspace` has bias_gradient_workspace() bytes.
int64_t bias_gradient_workspace(const Planes& shape);
void bias_gradient(const RunContext& context, const float* dy, float* db, bool accumulate, void* workspace,
                   const Planes& shape);

// to[i] += from[i]; both begin at a multiple of 16 bytes.
void add_to(const RunContext& context, float* to, const float* from, int64_t count);

}  // namespace plimsoll::cuda
