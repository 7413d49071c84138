// PReluBackward {x, slope, dy, dx}: dx = dy for x > 0, else slope · dy. The slope broadcasts to x, and may be f32 where
// the others are bf16.
#include "runtime/host/elementwise.h"
#include "runtime/host/rows.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

template <class T, class S>
std::unique_ptr<Kernel> bent_gradient(std::span<const OperandDesc> operands, const Loops<2>& loops) {
  const bool adds = operands[3].access == Access::update;
  return host::flat_kernel([loops, adds](const RunContext&, std::byte* const* operand) {
    const T *x = host::in<T>(operand, 0), *dy = host::in<T>(operand, 2);
    const S* slope = host::in<S>(operand, 1);
    T* dx = host::out<T>(operand, 3);
    const auto put = [=](int64_t at, float factor) {
      const float given = dy[at], value = x[at] > 0 ? given : factor * given;
      dx[at] = adds ? dx[at] + value : value;
    };
    const int64_t length = loops.counts[0], step = loops.strides[1][0];
    if (loops.depth() == 1) {
      const float factor = slope[0];
      if (step == 0) return host::for_elements(length, [=](int64_t j) { put(j, factor); });
      return host::for_elements(length, [=](int64_t j) { put(j, slope[j]); });
    }
    host::for_rows(loops, [=](const auto& offsets) {
      const int64_t at = offsets[0];
      const S* of_row = slope + offsets[1];
      if (step == 0) {
        const float factor = *of_row;
#pragma omp simd
        for (int64_t j = 0; j < length; ++j) put(at + j, factor);
      } else {
#pragma omp simd
        for (int64_t j = 0; j < length; ++j) put(at + j, of_row[j]);
      }
    });
  });
}

}  // namespace

std::vector<Algorithm> PReluBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> PReluBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  host::check_same(std::vector{operands[0], operands[2], operands[3]});
  const Loops<2> loops = loops_over<2>({operands[3].tensor, operands[1].tensor});
  if (loops.count(0) != operands[3].tensor.padded_elements()) throw KernelError("the slope is larger than x");
  return host::by_real(operands[3].tensor.type, [&](auto zero) {
    return host::by_real(operands[1].tensor.type, [&](auto of_slope) {
      return bent_gradient<decltype(zero), decltype(of_slope)>(operands, loops);
    });
  });
}

}  // namespace plimsoll
