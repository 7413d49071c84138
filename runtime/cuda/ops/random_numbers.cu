// RandomNumbers {y}: uniform in [first, second), or normal by the Box-Muller method, from the host's random bits.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/random.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

__global__ void uniform_kernel(int64_t n, float* y, cuda::RandomStream random, float first, float second,
                               cuda::ChangingArgument changing) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const uint64_t stream = random.start(changing.get());
  // 24 bits, the precision of a float, so that the upper bound is never reached.
  y[i] = first + (second - first) * (static_cast<float>(random.at(stream, i) >> 8) * 0x1p-24F);
}

__global__ void normal_kernel(int64_t n, float* y, cuda::RandomStream random, float mean, float deviation,
                              cuda::ChangingArgument changing) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const uint64_t stream = random.start(changing.get());
  const float u = (static_cast<float>(random.at(stream, 2 * i) >> 8) + 1) * 0x1p-24F;
  const float v = static_cast<float>(random.at(stream, 2 * i + 1) >> 8) * 0x1p-24F;
  y[i] = mean + deviation * sqrtf(-2 * logf(u)) * cosf(6.28318531F * v);
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(RandomNumbers, {
  cuda::need_plain(operands);
  const int64_t n = operands[0].tensor.elements();
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    const cuda::RandomStream random{attrs.key, (attrs.normal ? 2 : 1) * context.rank * n};
    cuda::launch(attrs.normal ? "normal numbers" : "uniform numbers", attrs.normal ? normal_kernel : uniform_kernel,
                 cuda::blocks_for(n), cuda::kThreads, context, n, cuda::out(operand, 0), random,
                 static_cast<float>(attrs.first), static_cast<float>(attrs.second), cuda::changing(context));
  });
})

}  // namespace plimsoll
