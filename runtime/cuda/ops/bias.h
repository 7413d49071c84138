// Bias operations for convolutions that do not include them. Tensors are [samples, channels, plane], or channels last
// [samples, plane, channels], of T: float, Bf16 or F16. Everything is deterministic: the order of summation depends
// only on the shape.
#pragma once

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/kernel.h"

namespace plimsoll::cuda {

struct Planes {
  int64_t samples = 0, channels = 0, plane = 0;
  bool channels_last = false;
};

// y += b[channel], and then y = max(y, 0) with `relu`. `b` may be nullptr.
template <class T>
void add_bias(const RunContext& context, T* y, const float* b, bool relu, const Planes& shape);

// db[channel] = Σ dy over samples and plane, or += with `accumulate`. `workspace` has bias_gradient_workspace() bytes.
int64_t bias_gradient_workspace(const Planes& shape);
template <class T>
void bias_gradient(const RunContext& context, const T* dy, float* db, bool accumulate, void* workspace,
                   const Planes& shape);

// to[i] += from[i]; both begin at a multiple of 16 bytes. Of one type, or f32 += a narrow one.
template <class To, class From>
void add_to(const RunContext& context, To* to, const From* from, int64_t count);

}  // namespace plimsoll::cuda
