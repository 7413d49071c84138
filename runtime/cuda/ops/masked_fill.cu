// MaskedFill {x, mask, y}: y = x where the mask (u8, broadcast to x) says so, else a number.
#include "runtime/attrs/masked_fill.h"

#include <cmath>
#include <limits>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/layout.h"
#include "runtime/cuda/strided.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

template <bool kAdd, class Index>
__global__ void masked_fill_kernel(Index n, cuda::DeviceLoops<1> loops, bool keep, float value, const float* x,
                            const unsigned char* mask, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const int64_t at = cuda::place(loops, static_cast<Index>(number)).of[0];
  const float result = (mask[at] != 0) == keep ? x[number] : value;
  y[number] = kAdd ? y[number] + result : result;
}

float fill_of(double value) {
  using Limits = std::numeric_limits<float>;
  if (std::fabs(value) <= static_cast<double>(Limits::max())) return static_cast<float>(value);
  return value > 0 ? Limits::infinity() : -Limits::infinity();
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(MaskedFill, {
  cuda::need_plain(operands);
  const Loops<2> both = loops_over<2>({operands[2].tensor, operands[1].tensor});
  Loops<1> of_mask;
  of_mask.counts = both.counts;
  of_mask.strides[0] = both.strides[1];
  const cuda::DeviceLoops<1> loops = cuda::on_device(of_mask);
  const int64_t n = operands[2].tensor.elements();
  const bool keep = attrs.keep;
  const float value = fill_of(attrs.value);
  return cuda::by_flag(cuda::adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::by_index(n, [&](auto index) {
        using Index = decltype(index);
        cuda::launch("masked fill", masked_fill_kernel<decltype(add)::value, Index>, cuda::blocks_for(n), cuda::kThreads, context,
                     static_cast<Index>(n), loops, keep, value, cuda::in(operand, 0),
                     reinterpret_cast<const unsigned char*>(operand[1]), cuda::out(operand, 2));
      });
    });
  });
})

}  // namespace plimsoll
