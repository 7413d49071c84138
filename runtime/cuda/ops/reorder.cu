// Reorder {x, y}: the same elements in another layout: from [samples, channels, pixels] to channels last, or back.
//
// Either way every sample's matrix is transposed. Tiles of 64×64 pass through shared memory, so that both sides are
// accessed in whole cache lines, by accesses of four elements if the length of a line allows it; one padding column
// keeps the columns of a tile in different banks. If there are few channels (the image that a network begins with), one
// thread copies all channels of a pixel, and adjacent threads adjacent pixels.
//
//   x  lines × columns      plain ─► nhwc: lines are channels, columns pixels;   nhwc ─► plain: the other way round
//   y  columns × lines
#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kReorderTile = 64, kFours = kReorderTile / 4, kLinesAtOnce = cuda::kThreads / kFours;
constexpr int64_t kFew = 16;  // lines or columns of a narrow matrix

template <bool kFourIn, bool kFourOut, class T>
__global__ void reorder_transpose_kernel(int64_t lines, int64_t columns, const T* from, T* to) {
  __shared__ float tile[kReorderTile][kReorderTile + 1];
  const int64_t across = (columns + kReorderTile - 1) / kReorderTile, down = (lines + kReorderTile - 1) / kReorderTile;
  const int64_t square = int64_t{blockIdx.x} % (across * down), sample = int64_t{blockIdx.x} / (across * down);
  const int64_t column = square % across * kReorderTile, line = square / across * kReorderTile;
  const T* const x = from + sample * lines * columns;
  T* const y = to + sample * lines * columns;
  const int a = 4 * (static_cast<int>(threadIdx.x) % kFours), b = static_cast<int>(threadIdx.x) / kFours;
#pragma unroll
  for (int i = b; i < kReorderTile; i += kLinesAtOnce) {
    if (line + i >= lines) continue;
    const T* const source = x + (line + i) * columns + column + a;
    if constexpr (kFourIn) {
      if (column + a >= columns) continue;
      const cuda::Few<4> few = cuda::load_few<4>(source);
      for (int k = 0; k < 4; ++k) tile[i][a + k] = few.of[k];
    } else {
      for (int k = 0; k < 4 && column + a + k < columns; ++k) tile[i][a + k] = cuda::load_one(source + k);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = b; i < kReorderTile; i += kLinesAtOnce) {
    if (column + i >= columns) continue;
    T* const target = y + (column + i) * lines + line + a;
    if constexpr (kFourOut) {
      if (line + a >= lines) continue;
      cuda::Few<4> few;
      for (int k = 0; k < 4; ++k) few.of[k] = tile[a + k][i];
      cuda::store_few(target, few);
    } else {
      for (int k = 0; k < 4 && line + a + k < lines; ++k) cuda::store_one(target + k, tile[a + k][i]);
    }
  }
}

// One thread for each of the `many`: it copies its `few` elements, which are contiguous on one of the two sides.
template <bool kFewAreLines, class T>
__global__ void narrow_kernel(int64_t samples, int64_t few, int64_t many, const T* x, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= samples * many) return;
  const int64_t sample = number / many, at = number - sample * many, start = sample * few * many;
  for (int64_t i = 0; i < few; ++i) {
    const int64_t apart = start + i * many + at, beside = start + at * few + i;
    if constexpr (kFewAreLines) y[beside] = x[apart];
    else y[apart] = x[beside];
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Reorder, {
  const TensorDesc x = operands[0].tensor, y = operands[1].tensor;
  cuda::need_one_order(operands.first(1));
  cuda::need_one_order(operands.last(1));
  if (x.dims != y.dims) throw KernelError("a reorder between shapes");
  const size_t bytes = static_cast<size_t>(y.bytes());
  if (x.layout == y.layout)
    return cuda::kernel([bytes](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::check(cudaMemcpyAsync(operand[1], operand[0], bytes, cudaMemcpyDeviceToDevice, cuda::stream_of(context)),
                  "cudaMemcpyAsync of a reorder");
    });
  const cuda::PlaneShape shape(x);
  const int64_t samples = shape.samples;
  const int64_t lines = shape.channels_last ? shape.pixels : shape.channels,
                columns = shape.channels_last ? shape.channels : shape.pixels;
  if (std::min(lines, columns) <= kFew)
    return cuda::by_flag(lines <= columns, [&](auto few_are_lines) {
      return cuda::by_real(x.type, [&](auto zero) -> std::unique_ptr<Kernel> {
        return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
          using T = decltype(zero);
          constexpr bool kFewAreLines = decltype(few_are_lines)::value;
          const int64_t few = kFewAreLines ? lines : columns, many = kFewAreLines ? columns : lines;
          cuda::launch("reorder", narrow_kernel<kFewAreLines, T>, cuda::blocks_for(samples * many), cuda::kThreads,
                       context, samples, few, many, cuda::in<T>(operand, 0), cuda::out<T>(operand, 1));
        });
      });
    });
  const int64_t blocks = samples * cuda::divided_up(lines, kReorderTile) * cuda::divided_up(columns, kReorderTile);
  return cuda::by_flag(columns % 4 == 0, [&](auto four_in) {
    return cuda::by_flag(lines % 4 == 0, [&](auto four_out) {
      return cuda::by_real(x.type, [&](auto zero) -> std::unique_ptr<Kernel> {
        return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
          using T = decltype(zero);
          cuda::launch("reorder", reorder_transpose_kernel<decltype(four_in)::value, decltype(four_out)::value, T>,
                       blocks, cuda::kThreads, context, lines, columns, cuda::in<T>(operand, 0),
                       cuda::out<T>(operand, 1));
        });
      });
    });
  });
})

}  // namespace plimsoll
