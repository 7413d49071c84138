// Kernels that compute each element of their result from the elements at the same position: any layout, the same for
// all operands. The result is the last operand; an `update` operand is accumulated (the gradient of a parameter, which
// is f32). Operands are f32 or bf16. If they are not all of one type, some elements at a time are converted in a
// buffer.
#pragma once

#include <algorithm>
#include <array>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"

namespace plimsoll::host {

inline void check_same(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.tensor.padded_elements() != operands.back().tensor.padded_elements() ||
        operand.tensor.layout != operands.back().tensor.layout)
      throw KernelError("an elementwise kernel's operands differ in shape or layout");
}

inline bool is_mixed(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.tensor.type != operands.back().tensor.type) return true;
  return false;
}

constexpr int64_t kMixedBlock = 512;

// Elements [at, at + n) as f32: where they are, or converted in `buffer`.
inline const float* block_in(const std::byte* operand, DataType type, int64_t at, int64_t n, float* buffer) {
  if (type == DataType::f32) return reinterpret_cast<const float*>(operand) + at;
  const Bf16* from = reinterpret_cast<const Bf16*>(operand) + at;
  for (int64_t i = 0; i < n; ++i) buffer[i] = from[i];
  return buffer;
}

inline void block_out(const float* made, std::byte* operand, DataType type, int64_t at, int64_t n, bool accumulates) {
  if (type == DataType::bf16) {
    Bf16* to = reinterpret_cast<Bf16*>(operand) + at;
    for (int64_t i = 0; i < n; ++i) to[i] = made[i];
    return;
  }
  float* to = reinterpret_cast<float*>(operand) + at;
  for (int64_t i = 0; i < n; ++i) to[i] = accumulates ? to[i] + made[i] : made[i];
}

// y = f(x…) for kIn operands and y, of mixed types.
template <size_t kIn, class F>
std::unique_ptr<Kernel> map_mixed(std::span<const OperandDesc> operands, F f) {
  const int64_t n = operands[kIn].tensor.padded_elements(), blocks = (n + kMixedBlock - 1) / kMixedBlock;
  const bool accumulates = operands[kIn].access == Access::update;
  std::array<DataType, kIn + 1> types;
  for (size_t k = 0; k <= kIn; ++k) types[k] = operands[k].tensor.type;
  return flat_kernel([=](const RunContext&, std::byte* const* operand) {
#pragma omp parallel for schedule(static) firstprivate(f) if (n > 16384)
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t at = block * kMixedBlock, count = std::min(kMixedBlock, n - at);
      float buffers[kIn + 1][kMixedBlock];
      std::array<const float*, kIn> x;
      for (size_t k = 0; k < kIn; ++k) x[k] = block_in(operand[k], types[k], at, count, buffers[k]);
      float* const y = buffers[kIn];
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (kIn == 1) y[i] = f(x[0][i]);
        else y[i] = f(x[0][i], x[1][i]);
      }
      block_out(y, operand[kIn], types[kIn], at, count, accumulates);
    }
  });
}

// {x, y}: y = f(x)
template <class F>
std::unique_ptr<Kernel> map(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
  if (is_mixed(operands)) return map_mixed<1>(operands, f);
  const int64_t n = operands[1].tensor.padded_elements();
  const bool accumulates = operands[1].access == Access::update;
  if (operands[1].tensor.type == DataType::bf16)
    return flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const Bf16* x = in<Bf16>(operand, 0);
      Bf16* y = out<Bf16>(operand, 1);
      for_elements(n, [=](int64_t i) { y[i] = f(x[i]); });
    });
  return flat_kernel([=](const RunContext&, std::byte* const* operand) {
    const float* x = in(operand, 0);
    float* y = out(operand, 1);
    if (accumulates) {
      for_elements(n, [=](int64_t i) { y[i] += f(x[i]); });
    } else {
      for_elements(n, [=](int64_t i) { y[i] = f(x[i]); });
    }
  });
}

// {a, b, y}: y = f(a, b)
template <class F>
std::unique_ptr<Kernel> map2(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
  if (is_mixed(operands)) return map_mixed<2>(operands, f);
  const int64_t n = operands[2].tensor.padded_elements();
  const bool accumulates = operands[2].access == Access::update;
  if (operands[2].tensor.type == DataType::bf16)
    return flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const Bf16 *a = in<Bf16>(operand, 0), *b = in<Bf16>(operand, 1);
      Bf16* y = out<Bf16>(operand, 2);
      for_elements(n, [=](int64_t i) { y[i] = f(a[i], b[i]); });
    });
  return flat_kernel([=](const RunContext&, std::byte* const* operand) {
    const float *a = in(operand, 0), *b = in(operand, 1);
    float* y = out(operand, 2);
    if (accumulates) {
      for_elements(n, [=](int64_t i) { y[i] += f(a[i], b[i]); });
    } else {
      for_elements(n, [=](int64_t i) { y[i] = f(a[i], b[i]); });
    }
  });
}

// Defines the two functions of such a kernel, with no choice of algorithm and one function per element.
#define PLIMSOLL_ELEMENTWISE(kernel, ...)                                                                \
  std::vector<Algorithm> kernel::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; } \
  std::unique_ptr<Kernel> kernel::make([[maybe_unused]] const Attrs& attrs,                              \
                                       std::span<const OperandDesc> operands, std::string_view) {        \
    __VA_ARGS__                                                                                          \
  }

}  // namespace plimsoll::host
