// PReluBackward {x, slope, dy, dx}: dx = dy for x > 0, else slope · dy. The slope broadcasts to x, and may be f32 where
// the others are narrow.
#include <vector>

#include "runtime/cuda/device/elementwise.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct BentSlope {
  __device__ float operator()(float x, float slope, float dy) const { return x > 0 ? dy : slope * dy; }
};

// One thread per step of the loops {dx, slope}, with four adjacent elements or one.
template <bool kFour, bool kAdd, class Index, class T, class S>
__global__ void bent_gradient_kernel(Index steps, cuda::DeviceLoops<2> loops, const T* x, const S* slope, const T* dy,
                                     T* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(steps)) return;
  const cuda::Places<2> at = cuda::place(loops, static_cast<Index>(number));
  const S* const factor = slope + at.of[1];
  if constexpr (kFour) {
    const auto x4 = cuda::load_few<4>(x + at.of[0]), dy4 = cuda::load_few<4>(dy + at.of[0]);
    const auto factors = loops.strides[1][0] == 0 ? cuda::few_of<4>(cuda::load_one(factor)) : cuda::load_few<4>(factor);
    cuda::Few<4> few{};
    for (int k = 0; k < 4; ++k) few.of[k] = BentSlope{}(x4.of[k], factors.of[k], dy4.of[k]);
    cuda::put_few<kAdd>(dx + at.of[0], few);
  } else {
    const float one = BentSlope{}(cuda::load_one(x + at.of[0]), cuda::load_one(factor), cuda::load_one(dy + at.of[0]));
    cuda::store_one(dx + at.of[0], kAdd ? cuda::load_one(dx + at.of[0]) + one : one);
  }
}

std::unique_ptr<Kernel> bent_gradient(std::span<const OperandDesc> operands) {
  cuda::check_same(std::vector{operands[0], operands[2], operands[3]});
  const Loops<2> loops = loops_over<2>({operands[3].tensor, operands[1].tensor});
  if (loops.count(0) != operands[3].tensor.padded_elements()) throw KernelError("the slope is larger than x");
  const bool by_four = cuda::four_at_once(loops);
  const int64_t steps = loops.count(0) / (by_four ? 4 : 1);
  const cuda::DeviceLoops<2> nest = cuda::on_device(loops, by_four ? 4 : 1);
  return cuda::by_flag(by_four, [&](auto four) {
    return cuda::by_real(operands[3].tensor.type, [&](auto zero) {
      using T = decltype(zero);
      return cuda::by_width_of<T>(operands[1].tensor.type, [&](auto of_slope) {
        using S = decltype(of_slope);
        return cuda::by_adding<T>(operands[3], [&](auto add) {
          return cuda::by_index(steps, [&](auto index) -> std::unique_ptr<Kernel> {
            using Index = decltype(index);
            return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
              cuda::launch("gradient of a PRelu",
                           bent_gradient_kernel<decltype(four)::value, decltype(add)::value, Index, T, S>,
                           cuda::blocks_for(steps), cuda::kThreads, context, static_cast<Index>(steps), nest,
                           cuda::in<T>(operand, 0), cuda::in<S>(operand, 1), cuda::in<T>(operand, 2),
                           cuda::out<T>(operand, 3));
            });
          });
        });
      });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(PReluBackward, return bent_gradient(operands);)

}  // namespace plimsoll
