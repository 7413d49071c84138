// AveragePoolForward {x, y}   AveragePoolBackward {dy, dx}
// Not oneDNN's: oneDNN divides by the whole window where ceil_mode extends beyond the padding. In the backward one
// thread processes a plane of channels, so overlapping windows are summed in a fixed order.
#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/host/windows.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// A dilated window may skip a small input entirely: the average of nothing is 0.
float share_of(const host::Reach& layers, const host::Reach& rows, const host::Reach& columns) {
  return 1.0F / static_cast<float>(std::max<int64_t>(1, layers.counted * rows.counted * columns.counted));
}

template <int kBlock, class T>
void forward(const host::PoolWindows& g, const T* x, T* y) {
#pragma omp parallel for schedule(static)
  for (int64_t item = 0; item < g.planes * g.rows; ++item) {
    const int64_t plane = item / g.rows;
    const T* from = x + plane * g.in_plane * kBlock;
    T* to = y + plane * g.out_plane() * kBlock;
    g.for_row(item % g.rows, [&](int64_t pixel, const host::Reach& layers, const host::Reach& rows,
                                 const host::Reach& columns) {
      const float share = share_of(layers, rows, columns);
      float sum[kBlock] = {};
      for (int64_t d = layers.first; d < layers.last; d += g.step[0])
        for (int64_t h = rows.first; h < rows.last; h += g.step[1])
          for (int64_t w = columns.first; w < columns.last; w += g.step[2])
            for (int c = 0; c < kBlock; ++c) sum[c] += from[((d * g.in[1] + h) * g.in[2] + w) * kBlock + c];
      for (int c = 0; c < kBlock; ++c) to[pixel * kBlock + c] = sum[c] * share;
    });
  }
}

template <int kBlock, class T>
void backward(const host::PoolWindows& g, const T* dy, T* dx, float* sums, int64_t lanes) {
  host::add_up_planes(g.planes, g.in_plane * kBlock, lanes, dx, sums, [&](int64_t plane, float* to) {
    const T* from = dy + plane * g.out_plane() * kBlock;
    for (int64_t row = 0; row < g.rows; ++row)
      g.for_row(row, [&](int64_t pixel, const host::Reach& layers, const host::Reach& rows,
                         const host::Reach& columns) {
        const float factor = share_of(layers, rows, columns);
        float share[kBlock];
        for (int c = 0; c < kBlock; ++c) share[c] = from[pixel * kBlock + c] * factor;
        for (int64_t d = layers.first; d < layers.last; d += g.step[0])
          for (int64_t h = rows.first; h < rows.last; h += g.step[1])
            for (int64_t w = columns.first; w < columns.last; w += g.step[2])
              for (int c = 0; c < kBlock; ++c) to[((d * g.in[1] + h) * g.in[2] + w) * kBlock + c] += share[c];
      });
  });
}

class AveragePoolBackwardKernel final : public Kernel {
 public:
  AveragePoolBackwardKernel(const PoolAttrs& attrs, std::span<const OperandDesc> operands)
      : AveragePoolBackwardKernel(attrs, operands, operands[1].tensor) {}

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    host::by_block(layout_, [&](auto block) {
      host::by_real(type_, [&](auto zero) {
        using T = decltype(zero);
        backward<decltype(block)::value>(windows_, host::in<T>(operands, 0), host::out<T>(operands, 1),
                                         reinterpret_cast<float*>(workspace), sums_.lanes);
      });
    });
  }

 private:
  AveragePoolBackwardKernel(const PoolAttrs& attrs, std::span<const OperandDesc> operands, const TensorDesc& dx)
      : windows_(attrs, dx, operands[0].tensor, std::max(1, block_of(dx.layout))),
        layout_(dx.layout),
        type_(dx.type),
        sums_(dx, operands) {}

  host::PoolWindows windows_;
  Layout layout_;
  DataType type_;
  host::PlaneSums sums_;
};

}  // namespace

std::vector<Algorithm> AveragePoolForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> AveragePoolForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  const TensorDesc &x = operands[0].tensor, &y = operands[1].tensor;
  return host::by_block(x.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    return host::flat_kernel(
        [g = host::PoolWindows(attrs, x, y, block), type = y.type](const RunContext&, std::byte* const* operand) {
      host::by_real(type, [&](auto zero) {
        using T = decltype(zero);
        forward<decltype(block)::value>(g, host::in<T>(operand, 0), host::out<T>(operand, 1));
      });
    });
  });
}

std::vector<Algorithm> AveragePoolBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = host::PlaneSums(operands[1].tensor, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> AveragePoolBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                  std::string_view) {
  return std::make_unique<AveragePoolBackwardKernel>(attrs, operands);
}

}  // namespace plimsoll
