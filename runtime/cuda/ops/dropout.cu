// Dropout {x, y}: the masks are the host's, bit for bit. An element's mask depends on its position in the order of the
// dimensions, regardless of the layout.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/random.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using Mask = cuda::DropoutMask;

template <class T>
__global__ void dropout_kernel(int64_t n, const T* x, T* y, Mask mask, cuda::ChangingArgument changing) {
  const uint64_t stream = mask.random.start(changing.get());
  const int64_t first = 4 * cuda::thread_number();
  if (first + 4 <= n) {
    cuda::Few<4> few = cuda::load_few<4>(x + first);
    for (int k = 0; k < 4; ++k) few.of[k] *= mask.of(stream, first + k);
    cuda::store_few(y + first, few);
  } else {
    for (int64_t i = first; i < n; ++i) cuda::store_one(y + i, cuda::load_one(x + i) * mask.of(stream, i));
  }
}

// `n` counts groups of kAtOnce elements.
template <int kAtOnce, class Index, class T>
__global__ void dropout_of_channels_kernel(Index n, Index channels, Index pixels, const T* x, T* y, Mask mask,
                                           cuda::ChangingArgument changing) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const uint64_t stream = mask.random.start(changing.get());
  const Index at = kAtOnce * static_cast<Index>(number), column = at / channels, c = at - column * channels,
              sample = column / pixels;
  const Index place = (sample * channels + c) * pixels + (column - sample * pixels);  // in the order of the dimensions
  auto few = cuda::load_few<kAtOnce>(x + at);
  for (int k = 0; k < kAtOnce; ++k)
    few.of[k] *= mask.of(stream, static_cast<int64_t>(place + static_cast<Index>(k) * pixels));
  cuda::store_few(y + at, few);
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Dropout, {
  cuda::need_one_order(operands);
  const cuda::PlaneShape shape =
      operands[0].tensor.rank() < 2 ? cuda::PlaneShape() : cuda::PlaneShape(operands[0].tensor);
  const int64_t n = operands[0].tensor.elements();
  const size_t bytes = static_cast<size_t>(operands[0].tensor.bytes());
  const Mask mask(attrs.ratio, attrs.key);
  const auto launched = [=](auto zero, const RunContext& context, std::byte* const* operand) {
    using T = decltype(zero);
    if (context.training) {
      Mask of_rank = mask;
      of_rank.random.skipped = context.rank * n;
      if (shape.channels_last)
        return cuda::by_row(shape.channels, [&](auto at_once) {
          cuda::by_index(n, [&](auto index) {
            using Index = decltype(index);
            constexpr int kAtOnce = decltype(at_once)::value;
            cuda::launch("dropout", dropout_of_channels_kernel<kAtOnce, Index, T>, cuda::blocks_for(n / kAtOnce),
                         cuda::kThreads, context, static_cast<Index>(n / kAtOnce), static_cast<Index>(shape.channels),
                         static_cast<Index>(shape.pixels), cuda::in<T>(operand, 0), cuda::out<T>(operand, 1), of_rank,
                         cuda::changing(context));
          });
        });
      cuda::launch("dropout", dropout_kernel<T>, cuda::blocks_for(cuda::divided_up(n, 4)), cuda::kThreads, context, n,
                   cuda::in<T>(operand, 0), cuda::out<T>(operand, 1), of_rank, cuda::changing(context));
    } else if (operand[0] != operand[1]) {
      cuda::check(cudaMemcpyAsync(operand[1], operand[0], bytes, cudaMemcpyDeviceToDevice, cuda::stream_of(context)),
                  "cudaMemcpyAsync of a dropout in evaluation");
    }
  };
  return cuda::kernel(
      [=, type = operands[0].tensor.type](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::by_real(type, [&](auto zero) { launched(zero, context, operand); });
  });
})

}  // namespace plimsoll
