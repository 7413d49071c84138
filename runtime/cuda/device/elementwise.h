// Kernels that compute each element of their result from the elements at the same position: any layout, the same for
// all operands, which are all of one type: f32, bf16 or f16. The result is the last operand; an `update` operand is
// accumulated (the gradient of a parameter). The result may overwrite an operand: each thread reads its position before
// it writes there, and accesses no other.
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

template <bool kAdd, class T, class F>
__global__ void map_kernel(int64_t n, const T* x, T* y, F f) {
  constexpr int kAtOnce = kAtOnceOf<T>;
  const int64_t first = kAtOnce * thread_number();
  if (first + kAtOnce <= n) {
    put_few<kAdd>(y + first, by_element(f, load_few<kAtOnce>(x + first)));
  } else {
    for (int64_t i = first; i < n; ++i) {
      const float value = f(load_one(x + i));
      store_one(y + i, kAdd ? load_one(y + i) + value : value);
    }
  }
}

template <bool kAdd, class T, class F>
__global__ void map2_kernel(int64_t n, const T* a, const T* b, T* y, F f) {
  constexpr int kAtOnce = kAtOnceOf<T>;
  const int64_t first = kAtOnce * thread_number();
  if (first + kAtOnce <= n) {
    put_few<kAdd>(y + first, by_element(f, load_few<kAtOnce>(a + first), load_few<kAtOnce>(b + first)));
  } else {
    for (int64_t i = first; i < n; ++i) {
      const float value = f(load_one(a + i), load_one(b + i));
      store_one(y + i, kAdd ? load_one(y + i) + value : value);
    }
  }
}

// {x, y}: y = f(x)
template <class F>
std::unique_ptr<Kernel> map(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
  const int64_t n = operands[1].tensor.padded_elements();
  return by_real(operands[1].tensor.type, [&](auto zero) {
    using T = decltype(zero);
    return by_adding<T>(operands[1], [&](auto add) -> std::unique_ptr<Kernel> {
      return kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        launch("elementwise kernel", map_kernel<decltype(add)::value, T, F>, blocks_for(divided_up(n, kAtOnceOf<T>)),
               kThreads, context, n, in<T>(operand, 0), out<T>(operand, 1), f);
      });
    });
  });
}

// {a, b, y}: y = f(a, b)
template <class F>
std::unique_ptr<Kernel> map2(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
  const int64_t n = operands[2].tensor.padded_elements();
  return by_real(operands[2].tensor.type, [&](auto zero) {
    using T = decltype(zero);
    return by_adding<T>(operands[2], [&](auto add) -> std::unique_ptr<Kernel> {
      return kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        launch("elementwise kernel", map2_kernel<decltype(add)::value, T, F>, blocks_for(divided_up(n, kAtOnceOf<T>)),
               kThreads, context, n, in<T>(operand, 0), in<T>(operand, 1), out<T>(operand, 2), f);
      });
    });
  });
}

}  // namespace plimsoll::cuda
