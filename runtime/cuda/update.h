// Optimizers: {w, g, state…}, one pass over all of them, and over the gradient once more in the same access where it must
// be cleared for the next iteration's rounds.
//
// An optimizer is a struct with `__device__ Step at(const Changing&) const`, which finds what all elements share, once for
// each block; a Step moves one weight and its state: `__device__ void operator()(float& w, float g, float& s0, float& s1)`.
#pragma once

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/vector.h"

namespace plimsoll::cuda {

template <int kStates, bool kClear, class Optimizer>
__global__ void update_kernel(int64_t n, float* w, float* g, float* s0, float* s1, Optimizer optimizer,
                              ChangingArgument changing) {
  __shared__ typename Optimizer::Step step;
  if (threadIdx.x == 0) step = optimizer.at(changing.get());
  __syncthreads();
  const int64_t first = 4 * thread_number();
  if (first + 4 <= n) {
    float4 weight = load4(w + first), a = make_float4(0, 0, 0, 0), b = a;
    const float4 gradient = load4(g + first);
    if (kStates > 0) a = load4(s0 + first);
    if (kStates > 1) b = load4(s1 + first);
    step(weight.x, gradient.x, a.x, b.x);
    step(weight.y, gradient.y, a.y, b.y);
    step(weight.z, gradient.z, a.z, b.z);
    step(weight.w, gradient.w, a.w, b.w);
    store4(w + first, weight);
    if (kStates > 0) store4(s0 + first, a);
    if (kStates > 1) store4(s1 + first, b);
    if (kClear) store4(g + first, make_float4(0, 0, 0, 0));
  } else {
    for (int64_t i = first; i < n; ++i) {
      float a = kStates > 0 ? s0[i] : 0, b = kStates > 1 ? s1[i] : 0;
      step(w[i], g[i], a, b);
      if (kStates > 0) s0[i] = a;
      if (kStates > 1) s1[i] = b;
      if (kClear) g[i] = 0;
    }
  }
}

template <int kStates, class Optimizer>
std::unique_ptr<Kernel> update(std::span<const OperandDesc> operands, Optimizer optimizer) {
  const int64_t n = operands[0].tensor.padded_elements();
  return by_flag(adds(operands[1]), [&](auto clear) -> std::unique_ptr<Kernel> {
    return kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      launch("optimizer kernel", update_kernel<kStates, decltype(clear)::value, Optimizer>, blocks_for(divided_up(n, 4)),
             kThreads, context, n, out(operand, 0), out(operand, 1), kStates > 0 ? out(operand, 2) : nullptr,
             kStates > 1 ? out(operand, 3) : nullptr, optimizer, changing(context));
    });
  });
}

}  // namespace plimsoll::cuda
