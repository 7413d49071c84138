// GlobalAveragePoolForward {x, y}   GlobalAveragePoolBackward {dy, dx}
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// One warp per plane.
template <cuda::Step kStep, class T>
__global__ void global_average_pool_kernel(int64_t planes, int64_t pixels, const T* x, T* y) {
  const int64_t plane = cuda::thread_number() / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
  if (plane < planes)
    for (int64_t i = lane; i < cuda::parts_of_plane(kStep, pixels); i += 32)
      for (const float v : cuda::PlanePart<kStep, int64_t>(plane * pixels, (plane + 1) * pixels, i).load(x).of)
        sum += v;
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, distance);
  if (plane < planes && lane == 0) cuda::store_one(y + plane, sum / static_cast<float>(pixels));
}

// Channels last: a block processes 32 channels of a sample, or 32 times four, and each row of threads every eighth
// pixel.
constexpr int kPoolColumns = 32, kPoolLines = cuda::kThreads / kPoolColumns;

template <int kAtOnce, class T>
__global__ void forward_of_channels_kernel(int64_t channels, int64_t pixels, const T* x, T* y) {
  __shared__ cuda::Few<kAtOnce> of_line[kPoolLines][kPoolColumns];
  const int column = static_cast<int>(threadIdx.x) % kPoolColumns, line = static_cast<int>(threadIdx.x) / kPoolColumns;
  const int64_t groups = (channels + kAtOnce * kPoolColumns - 1) / (kAtOnce * kPoolColumns);
  const int64_t sample = int64_t{blockIdx.x} / groups,
                c = kAtOnce * (int64_t{blockIdx.x} % groups * kPoolColumns + column);
  cuda::Few<kAtOnce> sum{};
  if (c < channels)
    for (int64_t i = line; i < pixels; i += kPoolLines) {
      const auto value = cuda::load_few<kAtOnce>(x + (sample * pixels + i) * channels + c);
      for (int k = 0; k < kAtOnce; ++k) sum.of[k] += value.of[k];
    }
  of_line[line][column] = sum;
  __syncthreads();
  if (line != 0 || c >= channels) return;
  for (int other = 1; other < kPoolLines; ++other)
    for (int k = 0; k < kAtOnce; ++k) sum.of[k] += of_line[other][column].of[k];
  for (int k = 0; k < kAtOnce; ++k) sum.of[k] /= static_cast<float>(pixels);
  cuda::store_few(y + sample * channels + c, sum);
}

// `n` and `channels` count groups of kAtOnce elements.
template <int kAtOnce, class Index, class T>
__global__ void backward_of_channels_kernel(Index n, Index channels, Index pixels, float factor, const T* dy, T* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index at = static_cast<Index>(number), column = at / channels;
  auto slope = cuda::load_few<kAtOnce>(
      dy + kAtOnce * static_cast<int64_t>(column / pixels * channels + (at - column * channels)));
  for (int k = 0; k < kAtOnce; ++k) slope.of[k] *= factor;
  cuda::store_few(dx + kAtOnce * number, slope);
}

// A plane may end within a thread's elements if the number of pixels is not a multiple of four: 7×7.
template <int kAtOnce, class Index, class T>
__global__ void global_average_pool_backward_kernel(Index n, Index pixels, float factor, const T* dy, T* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index first = kAtOnce * static_cast<Index>(number);
  cuda::Few<kAtOnce> slope;
  for (int k = 0; k < kAtOnce; ++k)
    slope.of[k] = cuda::load_one(dy + (first + static_cast<Index>(k)) / pixels) * factor;
  cuda::store_few(dx + kAtOnce * number, slope);
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GlobalAveragePoolForward, {
  cuda::need_one_order(operands);
  const cuda::PlaneShape shape(operands[0].tensor);
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([shape](const RunContext& context, std::byte* const* operand, std::byte*) {
      if (shape.channels_last)
        return cuda::by_row(shape.channels, [&](auto at_once) {
          constexpr int kAtOnce = decltype(at_once)::value;
          cuda::launch("global average pool", forward_of_channels_kernel<kAtOnce, T>,
                       shape.samples * cuda::divided_up(shape.channels, kAtOnce * kPoolColumns), cuda::kThreads,
                       context, shape.channels, shape.pixels, cuda::in<T>(operand, 0), cuda::out<T>(operand, 1));
        });
      cuda::by_step_of_plane(cuda::step_of_plane(shape.pixels), [&](auto step) {
        cuda::launch("global average pool", global_average_pool_kernel<decltype(step)::value, T>,
                     cuda::blocks_for(32 * shape.planes()), cuda::kThreads, context, shape.planes(), shape.pixels,
                     cuda::in<T>(operand, 0), cuda::out<T>(operand, 1));
      });
    });
  });
})

PLIMSOLL_CUDA_KERNEL(GlobalAveragePoolBackward, {
  cuda::need_one_order(operands);
  const cuda::PlaneShape shape(operands[1].tensor);
  const float factor = 1.0F / static_cast<float>(shape.pixels);
  const auto made = [&](auto at_once, auto index, auto zero) -> std::unique_ptr<Kernel> {
    using Index = decltype(index);
    using T = decltype(zero);
    constexpr int kAtOnce = decltype(at_once)::value;
    const int64_t n = shape.elements() / kAtOnce;
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      if (shape.channels_last)
        return cuda::launch("global average pool's gradient", backward_of_channels_kernel<kAtOnce, Index, T>,
                            cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n),
                            static_cast<Index>(shape.channels / kAtOnce), static_cast<Index>(shape.pixels), factor,
                            cuda::in<T>(operand, 0), cuda::out<T>(operand, 1));
      cuda::launch("global average pool's gradient", global_average_pool_backward_kernel<kAtOnce, Index, T>,
                   cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n),
                   static_cast<Index>(shape.pixels), factor, cuda::in<T>(operand, 0), cuda::out<T>(operand, 1));
    });
  };
  return cuda::by_row(shape.channels_last ? shape.channels : shape.elements(), [&](auto at_once) {
    return cuda::by_index(shape.elements(), [&](auto index) {
      return cuda::by_real(operands[1].tensor.type, [&](auto zero) { return made(at_once, index, zero); });
    });
  });
})

}  // namespace plimsoll
