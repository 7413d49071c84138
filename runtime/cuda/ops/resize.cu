// ResizeForward {x, y}   ResizeBackward {dy, dx}
// Each row and column of the result is between two of the input, as in runtime/host/ops/resize.cpp. The backward
// gathers: a pixel reads the stretch of the result that may depend on it, in order, so no two threads add to the same
// element.
#include "runtime/attrs/resize.h"

#include "runtime/cuda/ops/pool.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Between {
  int low, high;
  float share;
  // The weight of pixel `i`.
  __device__ float of(int i) const { return (i == low ? 1 - share : 0.0F) + (i == high ? share : 0.0F); }
};

struct Line {
  double start, step;
  int32_t in, out, nearest;

  __device__ double place(int o) const {
    const double at = start + step * o, whole = rint(at);
    return fabs(at - whole) < 1e-6 ? whole : at;
  }
  __device__ double within(double at) const { return at < 0 ? 0 : at > in - 1 ? in - 1 : at; }

  __device__ Between between(int o) const {
    const double at = place(o);
    if (nearest == ResizeAttrs::kLinear) {
      const double inside = within(at), low = floor(inside);
      const int first = static_cast<int>(low);
      return {first, first + 1 < in ? first + 1 : first, static_cast<float>(inside - low)};
    }
    const double chosen = nearest == ResizeAttrs::kFloor         ? floor(at)
                          : nearest == ResizeAttrs::kCeil        ? ceil(at)
                          : nearest == ResizeAttrs::kPreferFloor ? ceil(at - 0.5)
                                                                 : floor(at + 0.5);
    const int only = static_cast<int>(within(chosen));
    return {only, only, 0};
  }

  // The stretch [first, last] of the result that may depend on pixel `i`: positions grow with o, and positions outside
  // the input belong to its edge.
  __device__ int first_beside(int i) const {
    if (i == 0 || !(step > 0)) return 0;
    const double o = floor((i - 1 - start) / step) - 1;
    return o < 0 ? 0 : o > out ? out : static_cast<int>(o);
  }
  __device__ int last_beside(int i) const {
    if (i == in - 1 || !(step > 0)) return out - 1;
    const double o = ceil((i + 1 - start) / step) + 1;
    return o > out - 1 ? out - 1 : o < 0 ? -1 : static_cast<int>(o);
  }
};

struct ResizeShape {
  int64_t planes;
  int64_t step;  // from one pixel of a plane to the next
  Line rows, columns;

  ResizeShape(const ResizeAttrs& a, const TensorDesc& x, const TensorDesc& y)
      : planes(x.dim(0) * x.dim(1)), step(cuda::is_channels_last(x) ? x.dim(1) : 1) {
    const bool image = x.rank() == 4;
    const auto line = [&](double start, double step, int64_t in, int64_t out) {
      if (in > (int64_t{1} << 28) || out > (int64_t{1} << 28)) throw KernelError("too many pixels to resize");
      return Line{start, step, static_cast<int32_t>(in), static_cast<int32_t>(out), static_cast<int32_t>(a.nearest)};
    };
    rows = line(a.row_start, a.row_step, image ? x.dim(2) : 1, image ? y.dim(2) : 1);
    columns = line(a.column_start, a.column_step, x.dim(x.rank() - 1), y.dim(y.rank() - 1));
  }
  __host__ __device__ int64_t inputs() const { return planes * rows.in * columns.in; }
  __host__ __device__ int64_t outputs() const { return planes * rows.out * columns.out; }
};

// The interpolated value between two pixels of a row.
template <int kAtOnce>
__device__ cuda::Few<kAtOnce> along(const float* row, const Between& column, int64_t step) {
  const auto low = cuda::load_few<kAtOnce>(row + column.low * step),
             high = cuda::load_few<kAtOnce>(row + column.high * step);
  cuda::Few<kAtOnce> value;
  for (int k = 0; k < kAtOnce; ++k) value.of[k] = low.of[k] * (1 - column.share) + high.of[k] * column.share;
  return value;
}

template <int kAtOnce>
__global__ void resize_kernel(ResizeShape shape, const float* x, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.outputs() / kAtOnce) return;
  const cuda::Pixel at = cuda::pixel_of<kAtOnce>(number, shape.step, shape.rows.out, shape.columns.out);
  const float* const plane = x + at.plane(shape.step, shape.rows.in, shape.columns.in);
  const Between row = shape.rows.between(at.row), column = shape.columns.between(at.column);
  const auto above = along<kAtOnce>(plane + static_cast<int64_t>(row.low) * shape.columns.in * shape.step, column,
                                    shape.step),
             below = along<kAtOnce>(plane + static_cast<int64_t>(row.high) * shape.columns.in * shape.step, column,
                                    shape.step);
  cuda::Few<kAtOnce> value;
  for (int k = 0; k < kAtOnce; ++k) value.of[k] = above.of[k] * (1 - row.share) + below.of[k] * row.share;
  cuda::store_few(y + kAtOnce * number, value);
}

template <int kAtOnce, bool kAdd>
__global__ void resize_backward_kernel(ResizeShape shape, const float* dy, float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.inputs() / kAtOnce) return;
  const cuda::Pixel at = cuda::pixel_of<kAtOnce>(number, shape.step, shape.rows.in, shape.columns.in);
  const float* const plane = dy + at.plane(shape.step, shape.rows.out, shape.columns.out);
  const int first = shape.columns.first_beside(at.column), last = shape.columns.last_beside(at.column);
  cuda::Few<kAtOnce> sum{};
  for (int h = shape.rows.first_beside(at.row); h <= shape.rows.last_beside(at.row); ++h) {
    const float down = shape.rows.between(h).of(at.row);
    if (down == 0) continue;
    const float* const row = plane + static_cast<int64_t>(h) * shape.columns.out * shape.step;
    cuda::Few<kAtOnce> of_row{};
    for (int w = first; w <= last; ++w) {
      const float share = shape.columns.between(w).of(at.column);
      if (share == 0) continue;
      const auto slope = cuda::load_few<kAtOnce>(row + w * shape.step);
      for (int k = 0; k < kAtOnce; ++k) of_row.of[k] += slope.of[k] * share;
    }
    for (int k = 0; k < kAtOnce; ++k) sum.of[k] += of_row.of[k] * down;
  }
  if constexpr (kAdd) {
    const auto there = cuda::load_few<kAtOnce>(dx + kAtOnce * number);
    for (int k = 0; k < kAtOnce; ++k) sum.of[k] = there.of[k] + sum.of[k];
  }
  cuda::store_few(dx + kAtOnce * number, sum);
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(ResizeForward, {
  cuda::need_one_order(operands);
  const ResizeShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::by_row(shape.step, [&](auto at_once) -> std::unique_ptr<Kernel> {
    return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr int kAtOnce = decltype(at_once)::value;
      cuda::launch("resize", resize_kernel<kAtOnce>, cuda::blocks_for(shape.outputs() / kAtOnce), cuda::kThreads,
                   context, shape, cuda::in(operand, 0), cuda::out(operand, 1));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(ResizeBackward, {
  cuda::need_one_order(operands);
  const ResizeShape shape(attrs, operands[1].tensor, operands[0].tensor);
  return cuda::by_flag(cuda::adds(operands[1]), [&](auto add) {
    return cuda::by_row(shape.step, [&](auto at_once) -> std::unique_ptr<Kernel> {
      return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
        constexpr int kAtOnce = decltype(at_once)::value;
        cuda::launch("resize's gradient", resize_backward_kernel<kAtOnce, decltype(add)::value>,
                     cuda::blocks_for(shape.inputs() / kAtOnce), cuda::kThreads, context, shape, cuda::in(operand, 0),
                     cuda::out(operand, 1));
      });
    });
  });
})

}  // namespace plimsoll
