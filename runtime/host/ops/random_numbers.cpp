// RandomNumbers {y}: uniform in [first, second), or normal by the Box-Muller method.
#include <cmath>
#include <numbers>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/random.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> RandomNumbers::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> RandomNumbers::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  const int64_t n = operands[0].tensor.elements();
  const float first = static_cast<float>(attrs.first), second = static_cast<float>(attrs.second);
  return host::flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    float* y = host::out(operand, 0);
    host::RandomStream stream(context, attrs.key);
    if (!attrs.normal) {
      stream.skip(context.rank * n);
      // 24 bits, the precision of a float, so that the upper bound is never reached.
      return host::for_elements(
          n, [=](int64_t i) { y[i] = first + (second - first) * (static_cast<float>(stream.at(i) >> 8) * 0x1p-24F); });
    }
    stream.skip(2 * context.rank * n);
    constexpr float kTurn = 2 * std::numbers::pi_v<float>;
    host::for_elements(n, [=](int64_t i) {
      const float u = (static_cast<float>(stream.at(2 * i) >> 8) + 1) * 0x1p-24F,
                  v = static_cast<float>(stream.at(2 * i + 1) >> 8) * 0x1p-24F;
      y[i] = first + second * std::sqrt(-2 * std::log(u)) * std::cos(kTurn * v);
    });
  });
}

}  // namespace plimsoll
