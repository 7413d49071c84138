// MaskedFill {x, mask, y}: y = x where the mask (u8, broadcast to x) selects it, else a number. Plain layouts.
#include <cmath>
#include <limits>

#include "runtime/attrs/masked_fill.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/rows.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

// Step: of the mask along a row, 0 or 1.
template <bool Accumulate, int64_t Step, class T>
void fill_rows(const Loops<2>& loops, bool keep, T value, const T* x, const uint8_t* mask, T* y) {
  const int64_t length = loops.counts[0];
  const uint8_t hidden = keep ? 0 : 1;
  host::for_rows(loops, [=](const auto& offsets) {
    const int64_t at = offsets[0];
    const uint8_t* m = mask + offsets[1];
#pragma omp simd
    for (int64_t j = 0; j < length; ++j) {
      const uint8_t chosen = static_cast<uint8_t>(m[j * Step] != 0) ^ hidden;
      const T given = x[at + j], result = chosen != 0 ? given : value;
      if constexpr (Accumulate) y[at + j] += result;
      else y[at + j] = result;
    }
  });
}

template <bool Accumulate, class T>
void masked_fill(const Loops<2>& loops, bool keep, T value, const T* x, const uint8_t* mask, T* y) {
  if (loops.strides[1][0] == 0) fill_rows<Accumulate, 0>(loops, keep, value, x, mask, y);
  else fill_rows<Accumulate, 1>(loops, keep, value, x, mask, y);
}

float fill_of(double value) {
  using Limits = std::numeric_limits<float>;
  if (std::fabs(value) <= static_cast<double>(Limits::max())) return static_cast<float>(value);
  return value > 0 ? Limits::infinity() : -Limits::infinity();
}

}  // namespace

std::vector<Algorithm> MaskedFill::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MaskedFill::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const Loops<2> loops = loops_over<2>({operands[2].tensor, operands[1].tensor});
  const bool keep = attrs.keep, adds = operands[2].access == Access::update;
  const float value = fill_of(attrs.value);
  const DataType type = operands[2].tensor.type;
  return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
    const auto* m = reinterpret_cast<const uint8_t*>(operand[1]);
    if (type == DataType::bf16) {
      // moved as numbers of the same width
      return masked_fill<false>(loops, keep, narrowed(value), host::in<uint16_t>(operand, 0), m,
                                host::out<uint16_t>(operand, 2));
    }
    const float* x = host::in(operand, 0);
    adds ? masked_fill<true>(loops, keep, value, x, m, host::out(operand, 2))
         : masked_fill<false>(loops, keep, value, x, m, host::out(operand, 2));
  });
}

}  // namespace plimsoll
