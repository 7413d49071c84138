// GlobalAveragePoolForward {x, y}   GlobalAveragePoolBackward {dy, dx}
#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

template <int kBlock, class T>
void forward(const host::PlaneShape& shape, const T* x, T* y) {
  using P = host::Planes<kBlock>;
  const int64_t floats = shape.pixels * kBlock, planes = shape.samples * shape.channels / kBlock;
  const float share = 1.0F / static_cast<float>(shape.pixels);
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* from = x + plane * floats;
    float sum[kBlock] = {};
    P::fold(P::sum(0, floats, [&](auto load, int64_t i) { return load(from + i); }), sum);
    for (int c = 0; c < kBlock; ++c) y[plane * kBlock + c] = sum[c] * share;
  }
}

template <int kBlock, class T>
void backward(const host::PlaneShape& shape, const T* dy, T* dx) {
  using P = host::Planes<kBlock>;
  const int64_t floats = shape.pixels * kBlock, planes = shape.samples * shape.channels / kBlock;
  const float share = 1.0F / static_cast<float>(shape.pixels);
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < planes; ++plane) {
    const auto gradient = P::spread(dy + plane * kBlock) * share;
    P::map(dx + plane * floats, 0, floats, [&](auto, int64_t) { return gradient; });
  }
}

}  // namespace

std::vector<Algorithm> GlobalAveragePoolForward::algorithms(const Attrs&, std::span<const OperandDesc>) {
  return {{}};
}

std::unique_ptr<Kernel> GlobalAveragePoolForward::make(const Attrs&, std::span<const OperandDesc> operands,
                                                       std::string_view) {
  const TensorDesc& x = operands[0].tensor;
  return host::by_block(x.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    return host::flat_kernel(
        [shape = host::PlaneShape(x), type = x.type](const RunContext&, std::byte* const* operand) {
      host::by_real(type, [&](auto zero) {
        using T = decltype(zero);
        forward<decltype(block)::value>(shape, host::in<T>(operand, 0), host::out<T>(operand, 1));
      });
    });
  });
}

std::vector<Algorithm> GlobalAveragePoolBackward::algorithms(const Attrs&, std::span<const OperandDesc>) {
  return {{}};
}

std::unique_ptr<Kernel> GlobalAveragePoolBackward::make(const Attrs&, std::span<const OperandDesc> operands,
                                                        std::string_view) {
  const TensorDesc& dx = operands[1].tensor;
  return host::by_block(dx.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    return host::flat_kernel(
        [shape = host::PlaneShape(dx), type = dx.type](const RunContext&, std::byte* const* operand) {
      host::by_real(type, [&](auto zero) {
        using T = decltype(zero);
        backward<decltype(block)::value>(shape, host::in<T>(operand, 0), host::out<T>(operand, 1));
      });
    });
  });
}

}  // namespace plimsoll
