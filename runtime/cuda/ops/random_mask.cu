// RandomMask {y}: the host's masks, bit for bit.
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/layout.h"
#include "runtime/cuda/random.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

__global__ void mask_kernel(int64_t n, float* y, cuda::RandomStream random, uint32_t one_below, cuda::ChangingArgument changing) {
  const int64_t i = cuda::thread_number();
  if (i < n) y[i] = random.at(random.start(changing.get()), i) < one_below ? 1.0F : 0.0F;
}

__global__ void mean_kernel(int64_t n, float* y, float probability) {
  const int64_t i = cuda::thread_number();
  if (i < n) y[i] = probability;
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(RandomMask, {
  cuda::need_plain(operands);
  const int64_t n = operands[0].tensor.elements();
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    float* const y = cuda::out(operand, 0);
    if (!context.training || attrs.probability >= 1)
      return cuda::launch("random mask's mean", mean_kernel, cuda::blocks_for(n), cuda::kThreads, context, n, y,
                          static_cast<float>(attrs.probability));
    cuda::launch("random mask", mask_kernel, cuda::blocks_for(n), cuda::kThreads, context, n, y,
                 cuda::RandomStream{attrs.key, context.rank * n}, static_cast<uint32_t>(attrs.probability * 0xFFFFFFFFp0),
                 cuda::changing(context));
  });
})

}  // namespace plimsoll
