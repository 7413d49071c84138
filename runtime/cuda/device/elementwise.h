// Kernels that compute each element of their result from the elements at the same position: any layout, the same for
// all operands. The result is the last operand; an `update` operand is accumulated (the gradient of a parameter). The
// result may overwrite an operand: each thread reads its position before it writes there, and accesses no other.
//
// A function on elements is a struct with `__device__ float operator()(float) const`.
#pragma once

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

inline void check_same(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.tensor.padded_elements() != operands.back().tensor.padded_elements() ||
        operand.tensor.layout != operands.back().tensor.layout)
      throw KernelError("an elementwise kernel's operands differ in shape or layout");
}

template <bool kAdd, class F>
__global__ void map_kernel(int64_t n, const float* x, float* y, F f) {
  const int64_t first = 4 * thread_number();
  if (first + 4 <= n) {
    put_few<kAdd>(y + first, by_element(f, load_few<4>(x + first)));
  } else {
    for (int64_t i = first; i < n; ++i) y[i] = kAdd ? y[i] + f(x[i]) : f(x[i]);
  }
}

template <bool kAdd, class F>
__global__ void map2_kernel(int64_t n, const float* a, const float* b, float* y, F f) {
  const int64_t first = 4 * thread_number();
  if (first + 4 <= n) {
    put_few<kAdd>(y + first, by_element(f, load_few<4>(a + first), load_few<4>(b + first)));
  } else {
    for (int64_t i = first; i < n; ++i) y[i] = kAdd ? y[i] + f(a[i], b[i]) : f(a[i], b[i]);
  }
}

// {x, y}: y = f(x)
template <class F>
std::unique_ptr<Kernel> map(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
  const int64_t n = operands[1].tensor.padded_elements();
  return by_flag(adds(operands[1]), [&](auto add) -> std::unique_ptr<Kernel> {
    return kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      launch("elementwise kernel", map_kernel<decltype(add)::value, F>, blocks_for(divided_up(n, 4)), kThreads, context,
             n, in(operand, 0), out(operand, 1), f);
    });
  });
}

// {a, b, y}: y = f(a, b)
template <class F>
std::unique_ptr<Kernel> map2(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
  const int64_t n = operands[2].tensor.padded_elements();
  return by_flag(adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
    return kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      launch("elementwise kernel", map2_kernel<decltype(add)::value, F>, blocks_for(divided_up(n, 4)), kThreads,
             context, n, in(operand, 0), in(operand, 1), out(operand, 2), f);
    });
  });
}

}  // namespace plimsoll::cuda
