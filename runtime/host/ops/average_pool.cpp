// AveragePoolForward {x, y}   AveragePoolBackward {dy, dx}
// Not oneDNN's: oneDNN divides by the whole window where ceil_mode extends beyond the padding. Each plane of channels
// is processed by one thread, so overlapping windows are summed in a fixed order.
#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// The range of one window along one axis.
struct Reach {
  int64_t first, last;  // pixels of the input, every `dilation`-th of [first, last)
  int64_t counted;      // positions that the average counts
};

struct AveragePoolGeometry {
  PoolAttrs attrs;
  int64_t planes;                      // samples times blocks of channels
  int64_t in[3], out[3];               // depth, height, width; for two dimensions the depth is 1
  int64_t in_plane, out_plane;         // pixels

  AveragePoolGeometry(const PoolAttrs& a, const TensorDesc& x, const TensorDesc& y, int64_t block)
      : attrs(with_depth(a)), planes(x.dim(0) * x.dim(1) / block) {
    const size_t flat = x.rank() == 5 ? 0 : 1;
    in[0] = out[0] = 1;
    for (size_t axis = flat; axis < 3; ++axis) {
      in[axis] = x.dim(2 + axis - flat);
      out[axis] = y.dim(2 + axis - flat);
    }
    in_plane = in[0] * in[1] * in[2];
    out_plane = out[0] * out[1] * out[2];
  }

  static PoolAttrs with_depth(PoolAttrs a) {
    if (a.kernel.size() == 3) return a;
    a.kernel = {1, a.kernel[0], a.kernel[1]};
    a.strides = {1, a.strides[0], a.strides[1]};
    a.dilations = {1, a.dilations[0], a.dilations[1]};
    a.pads = {0, a.pads[0], a.pads[1], 0, a.pads[2], a.pads[3]};
    return a;
  }

  Reach reach(size_t axis, int64_t at) const {
    const int64_t step = attrs.dilations[axis], begin = at * attrs.strides[axis] - attrs.pads[axis];
    const int64_t end = begin + (attrs.kernel[axis] - 1) * step + 1;
    const auto places = [&](int64_t from, int64_t to) { return to <= from ? 0 : (to - from + step - 1) / step; };
    const int64_t first = begin >= 0 ? begin : begin + (-begin + step - 1) / step * step;
    const int64_t last = std::min(end, in[axis]);
    const int64_t counted_end = std::min(end, in[axis] + attrs.pads[axis + 3]);
    return {first, last, attrs.count_padding ? places(begin, counted_end) : places(first, last)};
  }
};

// body(output pixel, layers, rows, columns, 1 / counted positions) for every window of a plane.
template <class Body>
void for_windows(const AveragePoolGeometry& g, Body body) {
  int64_t pixel = 0;
  for (int64_t d = 0; d < g.out[0]; ++d) {
    const Reach layers = g.reach(0, d);
    for (int64_t h = 0; h < g.out[1]; ++h) {
      const Reach rows = g.reach(1, h);
      for (int64_t w = 0; w < g.out[2]; ++w) {
        const Reach columns = g.reach(2, w);
        // A dilated window may skip a small input entirely: the average of nothing is 0.
        const int64_t counted = std::max<int64_t>(1, layers.counted * rows.counted * columns.counted);
        body(pixel++, layers, rows, columns, 1.0F / static_cast<float>(counted));
      }
    }
  }
}

template <int kBlock, class T>
void forward(const AveragePoolGeometry& g, const T* x, T* y) {
  const int64_t layer_step = g.attrs.dilations[0], row_step = g.attrs.dilations[1], column_step = g.attrs.dilations[2];
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    const T* from = x + plane * g.in_plane * kBlock;
    T* to = y + plane * g.out_plane * kBlock;
    for_windows(g, [&](int64_t pixel, const Reach& layers, const Reach& rows, const Reach& columns, float factor) {
      float sum[kBlock] = {};
      for (int64_t d = layers.first; d < layers.last; d += layer_step)
        for (int64_t h = rows.first; h < rows.last; h += row_step)
          for (int64_t w = columns.first; w < columns.last; w += column_step)
            for (int c = 0; c < kBlock; ++c) sum[c] += from[((d * g.in[1] + h) * g.in[2] + w) * kBlock + c];
      for (int c = 0; c < kBlock; ++c) to[pixel * kBlock + c] = sum[c] * factor;
    });
  }
}

// In bf16 the windows of a pixel are added up in f32, and rounded once: `sums` has a plane of floats for each lane.
template <int kBlock, class T>
void backward(const AveragePoolGeometry& g, const T* dy, T* dx, float* sums, int64_t lanes) {
  const int64_t layer_step = g.attrs.dilations[0], row_step = g.attrs.dilations[1], column_step = g.attrs.dilations[2];
  constexpr bool in_place = std::is_same_v<T, float>;
  const int64_t in_plane = g.in_plane * kBlock;
  host::for_work_items(g.planes, lanes, [&](int64_t plane, int64_t lane) {
    const T* from = dy + plane * g.out_plane * kBlock;
    float* to = sums + lane * in_plane;
    if constexpr (in_place) to = dx + plane * in_plane;
    std::fill_n(to, in_plane, 0.0F);
    for_windows(g, [&](int64_t pixel, const Reach& layers, const Reach& rows, const Reach& columns, float factor) {
      float share[kBlock];
      for (int c = 0; c < kBlock; ++c) share[c] = from[pixel * kBlock + c] * factor;
      for (int64_t d = layers.first; d < layers.last; d += layer_step)
        for (int64_t h = rows.first; h < rows.last; h += row_step)
          for (int64_t w = columns.first; w < columns.last; w += column_step)
            for (int c = 0; c < kBlock; ++c) to[((d * g.in[1] + h) * g.in[2] + w) * kBlock + c] += share[c];
    });
    if constexpr (!in_place)
      for (int64_t i = 0; i < in_plane; ++i) dx[plane * in_plane + i] = to[i];
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
        backward<decltype(block)::value>(geometry_, host::in<T>(operands, 0), host::out<T>(operands, 1),
                                         reinterpret_cast<float*>(workspace), sums_.lanes);
      });
    });
  }

 private:
  AveragePoolBackwardKernel(const PoolAttrs& attrs, std::span<const OperandDesc> operands, const TensorDesc& dx)
      : geometry_(attrs, dx, operands[0].tensor, std::max(1, block_of(dx.layout))),
        layout_(dx.layout),
        type_(dx.type),
        sums_(dx, operands) {}

  AveragePoolGeometry geometry_;
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
        [g = AveragePoolGeometry(attrs, x, y, block), type = y.type](const RunContext&, std::byte* const* operand) {
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
