// The gradient of one of two operands that broadcast to dy, which has the dimensions of the result. dx has them, too.
//   MaxShare, MinShare {x, other, dy, dx}: dx = dy where x is larger (smaller), dy / 2 where both are equal, else 0
//   PowBaseSlope {base, exponent, dy, dx}: dx = dy · exponent · base^(exponent - 1), and 0 where the exponent is 0
//   PowExponentSlope {exponent, base, dy, dx}: dx = dy · base^exponent · ln(base), and 0 where the base is 0 and the
//   exponent is not negative
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct LargerShare {
  __device__ float operator()(float x, float other) const { return x > other ? 1.0F : x == other ? 0.5F : 0.0F; }
};
struct SmallerShare {
  __device__ float operator()(float x, float other) const { return x < other ? 1.0F : x == other ? 0.5F : 0.0F; }
};

struct BaseSlope {
  __device__ float operator()(float base, float exponent) const {
    return exponent == 0 ? 0.0F : exponent * powf(base, exponent - 1.0F);
  }
};
struct ExponentSlope {
  __device__ float operator()(float exponent, float base) const {
    return base == 0 && exponent >= 0 ? 0.0F : powf(base, exponent) * logf(base);
  }
};

// One thread per step of the loops {dx, x, other, dy}.
template <bool kAdd, class Index, class F>
__global__ void gradient_of_operand_kernel(Index n, cuda::DeviceLoops<4> loops, const float* x, const float* other,
                                           const float* dy, float* dx, F f) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<4> at = cuda::place(loops, static_cast<Index>(number));
  const float slope = dy[at.of[3]] * f(x[at.of[1]], other[at.of[2]]);
  float* const to = dx + at.of[0];
  *to = kAdd ? *to + slope : slope;
}

template <class F>
std::unique_ptr<Kernel> gradient_of_operand(std::span<const OperandDesc> operands, F f) {
  const Loops<4> loops =
      loops_over<4>({operands[3].tensor, operands[0].tensor, operands[1].tensor, operands[2].tensor});
  const int64_t n = loops.count(0);
  if (n != operands[3].tensor.padded_elements()) throw KernelError("operands larger than the result");
  const cuda::DeviceLoops<4> nest = cuda::on_device(loops);
  return cuda::by_flag(cuda::adds(operands[3]), [&](auto add) {
    return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
      using Index = decltype(index);
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("gradient of an operand", gradient_of_operand_kernel<decltype(add)::value, Index, F>,
                     cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n), nest, cuda::in(operand, 0),
                     cuda::in(operand, 1), cuda::in(operand, 2), cuda::out(operand, 3), f);
      });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(PowBaseSlope, return gradient_of_operand(operands, BaseSlope{});)
PLIMSOLL_CUDA_KERNEL(PowExponentSlope, return gradient_of_operand(operands, ExponentSlope{});)
PLIMSOLL_CUDA_KERNEL(MaxShare, return gradient_of_operand(operands, LargerShare{});)
PLIMSOLL_CUDA_KERNEL(MinShare, return gradient_of_operand(operands, SmallerShare{});)

}  // namespace plimsoll
