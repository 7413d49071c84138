// AveragePoolForward {x, y}   AveragePoolBackward {dy, dx}
// The backward gathers: each pixel sums the shares of the windows that cover it, in order.
#include "runtime/cuda/ops/pool.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using cuda::PoolAxis;
using cuda::PoolShape;
using cuda::VolumePoolShape;

// Positions of a window along one axis that the average counts.
__device__ int counted(const PoolAxis& axis, int at, bool count_padding) {
  const int begin = axis.begin(at), end = begin + (axis.kernel - 1) * axis.dilation + 1;
  const int first = count_padding ? begin : begin + axis.first_place(at) * axis.dilation;
  const int last = min(end, axis.in + (count_padding ? axis.pad_end : 0));
  return last <= first ? 0 : (last - first + axis.dilation - 1) / axis.dilation;
}

// A dilated window may skip a small input entirely: the average of nothing is 0.
__device__ float share(const PoolShape& shape, int row, int column, bool count_padding) {
  const int n = counted(shape.rows, row, count_padding) * counted(shape.columns, column, count_padding);
  return 1.0F / static_cast<float>(n > 0 ? n : 1);
}

template <int kAtOnce>
__global__ void average_pool_kernel(PoolShape shape, bool count_padding, const float* x, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.outputs() / kAtOnce) return;
  const cuda::Pixel at = cuda::pixel_of<kAtOnce>(number, shape.step, shape.rows.out, shape.columns.out);
  const float* const plane = x + at.plane(shape.step, shape.rows.in, shape.columns.in);
  const int top = shape.rows.begin(at.row), left = shape.columns.begin(at.column);
  cuda::Few<kAtOnce> sum{};
  for (int i = shape.rows.first_place(at.row); i < shape.rows.kernel; ++i) {
    const int row = top + i * shape.rows.dilation;
    if (row >= shape.rows.in) break;
    for (int j = shape.columns.first_place(at.column); j < shape.columns.kernel; ++j) {
      const int column = left + j * shape.columns.dilation;
      if (column >= shape.columns.in) break;
      const auto value =
          cuda::load_few<kAtOnce>(plane + (static_cast<int64_t>(row) * shape.columns.in + column) * shape.step);
      for (int k = 0; k < kAtOnce; ++k) sum.of[k] += value.of[k];
    }
  }
  const float factor = share(shape, at.row, at.column, count_padding);
  for (int k = 0; k < kAtOnce; ++k) sum.of[k] *= factor;
  cuda::store_few(y + kAtOnce * number, sum);
}

template <int kAtOnce>
__global__ void average_pool_backward_kernel(PoolShape shape, bool count_padding, const float* dy, float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.inputs() / kAtOnce) return;
  const cuda::Pixel at = cuda::pixel_of<kAtOnce>(number, shape.step, shape.rows.in, shape.columns.in);
  const float* const plane = dy + at.plane(shape.step, shape.rows.out, shape.columns.out);
  cuda::Few<kAtOnce> sum{};
  for (int h = shape.rows.first_window(at.row); h <= shape.rows.last_window(at.row); ++h) {
    if (shape.rows.place_of(at.row, h) < 0) continue;
    for (int w = shape.columns.first_window(at.column); w <= shape.columns.last_window(at.column); ++w) {
      if (shape.columns.place_of(at.column, w) < 0) continue;
      const auto slope =
          cuda::load_few<kAtOnce>(plane + (static_cast<int64_t>(h) * shape.columns.out + w) * shape.step);
      const float factor = share(shape, h, w, count_padding);
      for (int k = 0; k < kAtOnce; ++k) sum.of[k] += slope.of[k] * factor;
    }
  }
  cuda::store_few(dx + kAtOnce * number, sum);
}

__device__ float share(const VolumePoolShape& shape, int layer, int row, int column, bool count_padding) {
  const int n = counted(shape.layers, layer, count_padding) * counted(shape.rows, row, count_padding) *
                counted(shape.columns, column, count_padding);
  return 1.0F / static_cast<float>(n > 0 ? n : 1);
}

__global__ void average_pool_volume_kernel(VolumePoolShape shape, bool count_padding, const float* x, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.outputs()) return;
  const cuda::VolumePixel at = cuda::volume_pixel_of(number, shape.layers.out, shape.rows.out, shape.columns.out);
  const int front = shape.layers.begin(at.layer), top = shape.rows.begin(at.row), left = shape.columns.begin(at.column);
  float sum = 0;
  for (int k = shape.layers.first_place(at.layer); k < shape.layers.kernel; ++k) {
    const int layer = front + k * shape.layers.dilation;
    if (layer >= shape.layers.in) break;
    for (int i = shape.rows.first_place(at.row); i < shape.rows.kernel; ++i) {
      const int row = top + i * shape.rows.dilation;
      if (row >= shape.rows.in) break;
      const float* const line = x + ((at.plane * shape.layers.in + layer) * shape.rows.in + row) * shape.columns.in;
      for (int j = shape.columns.first_place(at.column); j < shape.columns.kernel; ++j) {
        const int column = left + j * shape.columns.dilation;
        if (column >= shape.columns.in) break;
        sum += line[column];
      }
    }
  }
  y[number] = sum * share(shape, at.layer, at.row, at.column, count_padding);
}

__global__ void average_pool_volume_backward_kernel(VolumePoolShape shape, bool count_padding, const float* dy,
                                                    float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.inputs()) return;
  const cuda::VolumePixel at = cuda::volume_pixel_of(number, shape.layers.in, shape.rows.in, shape.columns.in);
  float sum = 0;
  for (int d = shape.layers.first_window(at.layer); d <= shape.layers.last_window(at.layer); ++d) {
    if (shape.layers.place_of(at.layer, d) < 0) continue;
    for (int h = shape.rows.first_window(at.row); h <= shape.rows.last_window(at.row); ++h) {
      if (shape.rows.place_of(at.row, h) < 0) continue;
      const int64_t line = ((at.plane * shape.layers.out + d) * shape.rows.out + h) * shape.columns.out;
      for (int w = shape.columns.first_window(at.column); w <= shape.columns.last_window(at.column); ++w) {
        if (shape.columns.place_of(at.column, w) < 0) continue;
        sum += dy[line + w] * share(shape, d, h, w, count_padding);
      }
    }
  }
  dx[number] = sum;
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(AveragePoolForward, {
  cuda::need_one_order(operands);
  const bool count_padding = attrs.count_padding;
  if (operands[0].tensor.rank() == 5)
    return cuda::kernel([=, volume = VolumePoolShape(attrs, operands[0].tensor, operands[1].tensor)](
                            const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("average pool of a volume", average_pool_volume_kernel, cuda::blocks_for(volume.outputs()),
                   cuda::kThreads, context, volume, count_padding, cuda::in(operand, 0), cuda::out(operand, 1));
    });
  const PoolShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::by_row(shape.step, [&](auto at_once) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr int kAtOnce = decltype(at_once)::value;
      cuda::launch("average pool", average_pool_kernel<kAtOnce>, cuda::blocks_for(shape.outputs() / kAtOnce),
                   cuda::kThreads, context, shape, count_padding, cuda::in(operand, 0), cuda::out(operand, 1));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(AveragePoolBackward, {
  cuda::need_one_order(operands);
  const bool count_padding = attrs.count_padding;
  if (operands[1].tensor.rank() == 5)
    return cuda::kernel([=, volume = VolumePoolShape(attrs, operands[1].tensor, operands[0].tensor)](
                            const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("average pool's gradient of a volume", average_pool_volume_backward_kernel,
                   cuda::blocks_for(volume.inputs()), cuda::kThreads, context, volume, count_padding,
                   cuda::in(operand, 0), cuda::out(operand, 1));
    });
  const PoolShape shape(attrs, operands[1].tensor, operands[0].tensor);
  return cuda::by_row(shape.step, [&](auto at_once) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr int kAtOnce = decltype(at_once)::value;
      cuda::launch("average pool's gradient", average_pool_backward_kernel<kAtOnce>,
                   cuda::blocks_for(shape.inputs() / kAtOnce), cuda::kThreads, context, shape, count_padding,
                   cuda::in(operand, 0), cuda::out(operand, 1));
    });
  });
})

}  // namespace plimsoll
