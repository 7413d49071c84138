// RandomMask {y}
#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/random.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> RandomMask::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> RandomMask::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.elements();
  return host::flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    float* y = host::out(operand, 0);
    if (!context.training || attrs.probability >= 1)
      return void(std::fill_n(y, n, static_cast<float>(attrs.probability)));
    const uint32_t one_below = static_cast<uint32_t>(attrs.probability * 0xFFFFFFFFp0);
    host::RandomStream stream(context, attrs.key);
    stream.skip(context.rank * n);
    host::for_elements(n, [=](int64_t i) { y[i] = stream.at(i) < one_below ? 1.0F : 0.0F; });
  });
}

}  // namespace plimsoll
