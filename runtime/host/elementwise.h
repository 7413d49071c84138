// Kernels that compute each element of their result from the elements at the same position: any layout, the same for
// all operands. The result is the last operand; an `update` operand is accumulated (the gradient of a parameter, which
// is f32). All operands are f32, or all are bf16.
#pragma once

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"

namespace plimsoll::host {

inline void check_same(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.tensor.padded_elements() != operands.back().tensor.padded_elements() ||
        operand.tensor.layout != operands.back().tensor.layout)
      throw KernelError("an elementwise kernel's operands differ in shape or layout");
}

// {x, y}: y = f(x)
template <class F>
std::unique_ptr<Kernel> map(std::span<const OperandDesc> operands, F f) {
  check_same(operands);
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
