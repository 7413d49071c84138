// MaxPoolForward {x, y, indices}   MaxPoolBackward {indices, dy, dx}
// `indices` records for each output which position of its window was the largest: the first of equal ones, row by row.
// The backward gathers: each pixel reads the windows that cover it, in order, so no two threads add to the same
// element.
#include "runtime/cuda/ops/pool.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

using cuda::PoolShape;
using cuda::VolumePoolShape;

template <int kAtOnce, class Place, class T>
__global__ void max_pool_kernel(PoolShape shape, const T* x, T* y, Place* indices) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.outputs() / kAtOnce) return;
  const cuda::Pixel at = cuda::pixel_of<kAtOnce>(number, shape.step, shape.rows.out, shape.columns.out);
  const T* const plane = x + at.plane(shape.step, shape.rows.in, shape.columns.in);
  const int top = shape.rows.begin(at.row), left = shape.columns.begin(at.column);
  cuda::Few<kAtOnce> largest{};
  cuda::Few<kAtOnce, Place> best{};
  bool first = true;
  for (int i = shape.rows.first_place(at.row); i < shape.rows.kernel; ++i) {
    const int row = top + i * shape.rows.dilation;
    if (row >= shape.rows.in) break;
    for (int j = shape.columns.first_place(at.column); j < shape.columns.kernel; ++j) {
      const int column = left + j * shape.columns.dilation;
      if (column >= shape.columns.in) break;
      const auto value =
          cuda::load_few<kAtOnce>(plane + (static_cast<int64_t>(row) * shape.columns.in + column) * shape.step);
      for (int k = 0; k < kAtOnce; ++k) {
        // a NaN remains the largest
        if (!first && !(value.of[k] > largest.of[k]) && value.of[k] == value.of[k]) continue;
        largest.of[k] = value.of[k];
        best.of[k] = static_cast<Place>(i * shape.columns.kernel + j);
      }
      first = false;
    }
  }
  cuda::store_few(y + kAtOnce * number, largest);
  if (indices != nullptr) cuda::store_few(indices + kAtOnce * number, best);
}

template <int kAtOnce, class Place, class T>
__global__ void max_pool_backward_kernel(PoolShape shape, const Place* indices, const T* dy, T* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.inputs() / kAtOnce) return;
  const cuda::Pixel at = cuda::pixel_of<kAtOnce>(number, shape.step, shape.rows.in, shape.columns.in);
  const int64_t plane = at.plane(shape.step, shape.rows.out, shape.columns.out);
  cuda::Few<kAtOnce> sum{};
  for (int h = shape.rows.first_window(at.row); h <= shape.rows.last_window(at.row); ++h) {
    const int i = shape.rows.place_of(at.row, h);
    if (i < 0) continue;
    for (int w = shape.columns.first_window(at.column); w <= shape.columns.last_window(at.column); ++w) {
      const int j = shape.columns.place_of(at.column, w);
      if (j < 0) continue;
      const int64_t window = plane + (static_cast<int64_t>(h) * shape.columns.out + w) * shape.step;
      const auto largest = cuda::load_few<kAtOnce>(indices + window);
      // With one element at a time, a window's gradient is read only if it belongs to the pixel, which is rare.
      if (kAtOnce == 1 && static_cast<int>(largest.of[0]) != i * shape.columns.kernel + j) continue;
      const auto slope = cuda::load_few<kAtOnce>(dy + window);
      for (int k = 0; k < kAtOnce; ++k)
        if (static_cast<int>(largest.of[k]) == i * shape.columns.kernel + j) sum.of[k] += slope.of[k];
    }
  }
  cuda::store_few(dx + kAtOnce * number, sum);
}

template <class Place>
__global__ void max_pool_volume_kernel(VolumePoolShape shape, const float* x, float* y, Place* indices) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.outputs()) return;
  const cuda::VolumePixel at = cuda::volume_pixel_of(number, shape.layers.out, shape.rows.out, shape.columns.out);
  const int front = shape.layers.begin(at.layer), top = shape.rows.begin(at.row), left = shape.columns.begin(at.column);
  float largest = 0;
  Place best = 0;
  bool first = true;
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
        const float value = line[column];
        if (!first && !(value > largest) && value == value) continue;  // a NaN remains the largest
        largest = value;
        best = static_cast<Place>((k * shape.rows.kernel + i) * shape.columns.kernel + j);
        first = false;
      }
    }
  }
  y[number] = largest;
  if (indices != nullptr) indices[number] = best;
}

template <class Place>
__global__ void max_pool_volume_backward_kernel(VolumePoolShape shape, const Place* indices, const float* dy,
                                                float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.inputs()) return;
  const cuda::VolumePixel at = cuda::volume_pixel_of(number, shape.layers.in, shape.rows.in, shape.columns.in);
  float sum = 0;
  for (int d = shape.layers.first_window(at.layer); d <= shape.layers.last_window(at.layer); ++d) {
    const int k = shape.layers.place_of(at.layer, d);
    if (k < 0) continue;
    for (int h = shape.rows.first_window(at.row); h <= shape.rows.last_window(at.row); ++h) {
      const int i = shape.rows.place_of(at.row, h);
      if (i < 0) continue;
      const int64_t line = ((at.plane * shape.layers.out + d) * shape.rows.out + h) * shape.columns.out;
      for (int w = shape.columns.first_window(at.column); w <= shape.columns.last_window(at.column); ++w) {
        const int j = shape.columns.place_of(at.column, w);
        if (j < 0) continue;
        if (static_cast<int>(indices[line + w]) == (k * shape.rows.kernel + i) * shape.columns.kernel + j)
          sum += dy[line + w];
      }
    }
  }
  dx[number] = sum;
}

template <class Place>
std::unique_ptr<Kernel> max_pool_volume(const VolumePoolShape& shape) {
  return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("max pool of a volume", max_pool_volume_kernel<Place>, cuda::blocks_for(shape.outputs()),
                 cuda::kThreads, context, shape, cuda::in(operand, 0), cuda::out(operand, 1),
                 reinterpret_cast<Place*>(operand[2]));
  });
}

template <class Place>
std::unique_ptr<Kernel> max_pool_volume_backward(const VolumePoolShape& shape) {
  return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("max pool's gradient of a volume", max_pool_volume_backward_kernel<Place>,
                 cuda::blocks_for(shape.inputs()), cuda::kThreads, context, shape,
                 reinterpret_cast<const Place*>(operand[0]), cuda::in(operand, 1), cuda::out(operand, 2));
  });
}

// body(channels per thread, a value of the type of the indices, an element).
template <class Body>
std::unique_ptr<Kernel> by_place(const PoolShape& shape, DataType type, DataType real, Body body) {
  return cuda::by_row(shape.step, [&](auto at_once) {
    return cuda::by_real(real, [&](auto zero) -> std::unique_ptr<Kernel> {
      return type == DataType::i32 ? body(at_once, int32_t{0}, zero) : body(at_once, uint8_t{0}, zero);
    });
  });
}

// On widened operands.
void refuse_narrow_volume(std::span<const OperandDesc> operands) {
  if (uses_narrow(operands) && operands[1].tensor.rank() == 5) throw KernelError("a max pool of a volume in 16 bits");
}

}  // namespace

std::vector<Algorithm> MaxPoolForward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  refuse_narrow_volume(operands);
  return {{}};
}

std::unique_ptr<Kernel> MaxPoolForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  cuda::need_one_order(operands);
  if (operands[0].tensor.rank() == 5) {
    const VolumePoolShape volume(attrs, operands[0].tensor, operands[1].tensor);
    return operands[2].tensor.type == DataType::i32 ? max_pool_volume<int32_t>(volume)
                                                    : max_pool_volume<uint8_t>(volume);
  }
  const PoolShape shape(attrs, operands[0].tensor, operands[1].tensor);
  const auto made = [&](auto at_once, auto place, auto zero) -> std::unique_ptr<Kernel> {
    using Place = decltype(place);
    using T = decltype(zero);
    return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr int kAtOnce = decltype(at_once)::value;
      cuda::launch("max pool", max_pool_kernel<kAtOnce, Place, T>, cuda::blocks_for(shape.outputs() / kAtOnce),
                   cuda::kThreads, context, shape, cuda::in<T>(operand, 0), cuda::out<T>(operand, 1),
                   reinterpret_cast<Place*>(operand[2]));
    });
  };
  return by_place(shape, operands[2].tensor.type, operands[0].tensor.type, made);
}

std::vector<Algorithm> MaxPoolBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  refuse_narrow_volume(operands);
  return {{}};
}

std::unique_ptr<Kernel> MaxPoolBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  cuda::need_one_order(operands);
  if (operands[2].tensor.rank() == 5) {
    const VolumePoolShape volume(attrs, operands[2].tensor, operands[1].tensor);
    return operands[0].tensor.type == DataType::i32 ? max_pool_volume_backward<int32_t>(volume)
                                                    : max_pool_volume_backward<uint8_t>(volume);
  }
  const PoolShape shape(attrs, operands[2].tensor, operands[1].tensor);
  const auto made = [&](auto at_once, auto place, auto zero) -> std::unique_ptr<Kernel> {
    using Place = decltype(place);
    using T = decltype(zero);
    return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr int kAtOnce = decltype(at_once)::value;
      cuda::launch("max pool's gradient", max_pool_backward_kernel<kAtOnce, Place, T>,
                   cuda::blocks_for(shape.inputs() / kAtOnce), cuda::kThreads, context, shape,
                   reinterpret_cast<const Place*>(operand[0]), cuda::in<T>(operand, 1), cuda::out<T>(operand, 2));
    });
  };
  return by_place(shape, operands[0].tensor.type, operands[1].tensor.type, made);
}

}  // namespace plimsoll
