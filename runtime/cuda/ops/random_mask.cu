// RandomMask {y}: the host's masks, bit for bit.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/random.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// `n` counts groups of kAtOnce elements.
template <int kAtOnce>
__global__ void mask_kernel(int64_t n, float* y, cuda::RandomStream random, uint32_t one_below,
                            cuda::ChangingArgument changing) {
  const int64_t number = cuda::thread_number();
  if (number >= n) return;
  const uint64_t stream = random.start(changing.get());
  cuda::Few<kAtOnce> few;
  for (int k = 0; k < kAtOnce; ++k) few.of[k] = random.at(stream, kAtOnce * number + k) < one_below ? 1.0F : 0.0F;
  cuda::store_few(y + kAtOnce * number, few);
}

template <int kAtOnce>
__global__ void mean_kernel(int64_t n, float* y, float probability) {
  const int64_t number = cuda::thread_number();
  if (number < n) cuda::store_few(y + kAtOnce * number, cuda::few_of<kAtOnce>(probability));
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(RandomMask, {
  cuda::need_plain(operands);
  const int64_t elements = operands[0].tensor.elements();
  return cuda::by_row(elements, [&](auto at_once) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr int kAtOnce = decltype(at_once)::value;
      const int64_t n = elements / kAtOnce;
      float* const y = cuda::out(operand, 0);
      if (!context.training || attrs.probability >= 1)
        return cuda::launch("random mask's mean", mean_kernel<kAtOnce>, cuda::blocks_for(n), cuda::kThreads, context, n,
                            y, static_cast<float>(attrs.probability));
      cuda::launch("random mask", mask_kernel<kAtOnce>, cuda::blocks_for(n), cuda::kThreads, context, n, y,
                   cuda::RandomStream{attrs.key, context.rank * elements},
                   static_cast<uint32_t>(attrs.probability * 0xFFFFFFFFp0), cuda::changing(context));
    });
  });
})

}  // namespace plimsoll
