// MaskedFill {x, mask, y}: y = x where the mask (u8, broadcast to x) selects it, else a number.
#include "runtime/attrs/masked_fill.h"

#include <cmath>
#include <limits>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// Four at once: four adjacent elements of the mask, or one for all of them.
template <int kAtOnce, bool kAdd, class Index, class T>
__global__ void masked_fill_kernel(Index n, cuda::DeviceLoops<1> loops, bool keep, float value, const T* x,
                                   const unsigned char* mask, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const unsigned char* const at = mask + cuda::place(loops, static_cast<Index>(number)).of[0];
  const auto kept = loops.strides[0][0] != 0 ? cuda::load_few<kAtOnce>(at) : cuda::few_of<kAtOnce>(*at);
  auto result = cuda::load_few<kAtOnce>(x + kAtOnce * number);
  for (int k = 0; k < kAtOnce; ++k)
    if ((kept.of[k] != 0) != keep) result.of[k] = value;
  if constexpr (kAdd) {
    const auto there = cuda::load_few<kAtOnce>(y + kAtOnce * number);
    for (int k = 0; k < kAtOnce; ++k) result.of[k] += there.of[k];
  }
  cuda::store_few(y + kAtOnce * number, result);
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
  const bool by_four = cuda::four_at_once(both);
  const cuda::DeviceLoops<1> loops = cuda::on_device(of_mask, by_four ? 4 : 1);
  const int64_t n = operands[2].tensor.elements() / (by_four ? 4 : 1);
  const bool keep = attrs.keep;
  const float value = fill_of(attrs.value);
  const auto made = [&](auto four, auto zero, auto add) {
    using T = decltype(zero);
    return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
      using Index = decltype(index);
      constexpr int kAtOnce = decltype(four)::value ? 4 : 1;
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("masked fill", masked_fill_kernel<kAtOnce, decltype(add)::value, Index, T>, cuda::blocks_for(n),
                     cuda::kThreads, context, static_cast<Index>(n), loops, keep, value, cuda::in<T>(operand, 0),
                     reinterpret_cast<const unsigned char*>(operand[1]), cuda::out<T>(operand, 2));
      });
    });
  };
  return cuda::by_flag(by_four, [&](auto four) {
    return cuda::by_real(operands[2].tensor.type, [&](auto zero) {
      return cuda::by_adding<decltype(zero)>(operands[2], [&](auto add) { return made(four, zero, add); });
    });
  });
})

}  // namespace plimsoll
