// Shared by all update kernels: {w, g, states…, factor?}. The gradient is multiplied by the factor if gradients are
// clipped (ClipFactor), and cleared afterwards if it accumulates. A discarded update only clears.
#pragma once

#include "runtime/host/flat_kernel.h"

namespace plimsoll::host {

// step(context, operands, i, gradient) for every element i.
template <class Prepare>
std::unique_ptr<Kernel> update_kernel(std::span<const OperandDesc> operands, size_t states, Prepare prepare) {
  const int64_t n = operands[0].tensor.padded_elements();
  const bool clear = operands[1].access == Access::update;
  const size_t factor_slot = operands.size() > 2 + states ? 2 + states : 0;
  return flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    float* g = out(operand, 1);
    if (!context.discard) {
      const float factor = factor_slot > 0 ? *in(operand, factor_slot) : 1;
      const auto step = prepare(context, operand);
      for_elements(n, [=](int64_t i) { step(i, factor * g[i]); });
    }
    if (clear) for_elements(n, [=](int64_t i) { g[i] = 0; });
  });
}

}  // namespace plimsoll::host
