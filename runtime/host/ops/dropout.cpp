// Dropout {x, y}
#include <cstring>

#include "runtime/host/dropout_mask.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

template <int kBlock, class T>
void apply(const host::DropoutMask mask, const host::PlaneShape shape, const T* x, T* y) {
  const int64_t pixels = shape.pixels, planes = shape.samples * shape.channels / kBlock;
#pragma omp parallel for schedule(static) firstprivate(mask)
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const int64_t from = (plane * pixels + pixel) * kBlock, first = plane * kBlock * pixels + pixel;
#pragma omp simd
      for (int c = 0; c < kBlock; ++c) y[from + c] = x[from + c] * mask.at(first + c * pixels);
    }
  }
}

}  // namespace

std::vector<Algorithm> Dropout::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Dropout::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc tensor = operands[0].tensor;
  const int64_t n = tensor.elements();
  return host::by_real(tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([=](const RunContext& context, std::byte* const* operand) {
      const T* x = host::in<T>(operand, 0);
      T* y = host::out<T>(operand, 1);
      if (!context.training) {
        if (x != y) std::memcpy(operand[1], operand[0], static_cast<size_t>(tensor.bytes()));
        return;
      }
      const host::DropoutMask mask(attrs.ratio, attrs.key, n, context);
      if (tensor.layout == Layout::plain) return host::for_elements(n, [=](int64_t i) { y[i] = x[i] * mask.at(i); });
      host::by_block(tensor.layout,
                     [&](auto block) { apply<decltype(block)::value>(mask, host::PlaneShape(tensor), x, y); });
    });
  });
}

}  // namespace plimsoll
