// BinaryAdd, BinarySub, BinaryMul, BinaryDiv, BinaryMax, BinaryMin, BinaryPow {a, b, y}: y = a op b; a and b broadcast
// to y. BinaryAdd may apply a Relu to its result. BinaryPRelu {x, slope, y}: y = x for x > 0, else slope · x
// ScaleShift {x, y}: y = scale · x + shift
#include "runtime/cuda/device/elementwise.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct AddRelu {
  __device__ float operator()(float a, float b) const { return a + b > 0 ? a + b : 0; }
};
struct Sub {
  __device__ float operator()(float a, float b) const { return a - b; }
};
struct Mul {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct Div {
  __device__ float operator()(float a, float b) const { return a / b; }
};
// NaN if an operand is NaN.
struct Larger {
  __device__ float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};
struct Smaller {
  __device__ float operator()(float a, float b) const { return a < b || a != a ? a : b; }
};
struct Bend {
  __device__ float operator()(float x, float slope) const { return x > 0 ? x : slope * x; }
};
struct BinaryScale {
  float scale, shift;
  __device__ float operator()(float x) const { return scale * x + shift; }
};

// An operand whose elements are float or T, the type of the result. The branch is the same for all threads, and these
// kernels are bound by memory. A kernel for each pair of types would make four times as many to compile.
template <class T>
struct Operand {
  const void* from;
  bool wide;

  __device__ float one(int64_t at) const {
    return wide ? cuda::load_one(static_cast<const float*>(from) + at)
                : cuda::load_one(static_cast<const T*>(from) + at);
  }
  // Four adjacent elements if the operand varies along the innermost loop, or one value four times.
  __device__ cuda::Few<4> four(int64_t at, int64_t step) const {
    if (step == 0) return cuda::few_of<4>(one(at));
    return wide ? cuda::load_few<4>(static_cast<const float*>(from) + at)
                : cuda::load_few<4>(static_cast<const T*>(from) + at);
  }
};

// One thread per step of the loops {y, a, b}, with four adjacent elements or one.
template <bool kFour, bool kAdd, class Index, class T, class F>
__global__ void broadcast_kernel(Index steps, cuda::DeviceLoops<3> loops, Operand<T> a, Operand<T> b, T* y, F f) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(steps)) return;
  const cuda::Places<3> at = cuda::place(loops, static_cast<Index>(number));
  T* const to = y + at.of[0];
  if constexpr (kFour) {
    cuda::put_few<kAdd>(to, cuda::by_element(f, a.four(at.of[1], loops.strides[1][0]),
                                             b.four(at.of[2], loops.strides[2][0])));
  } else {
    const float result = f(a.one(at.of[1]), b.one(at.of[2]));
    cuda::store_one(to, kAdd ? cuda::load_one(to) + result : result);
  }
}

struct ToThePower {
  __device__ float operator()(float a, float b) const { return powf(a, b); }
};

template <class F>
std::unique_ptr<Kernel> binary(std::span<const OperandDesc> operands, F f) {
  const TensorDesc &a = operands[0].tensor, &b = operands[1].tensor, &y = operands[2].tensor;
  const Loops<3> loops = loops_over<3>({y, a, b});
  const int64_t n = loops.count(0);
  if (n != y.padded_elements()) throw KernelError("operands larger than the result");
  const bool together = loops.depth() == 1 && loops.strides[1][0] == 1 && loops.strides[2][0] == 1;
  const bool alike = a.type == y.type && b.type == y.type;
  if (together && alike && a.padded_elements() == n && b.padded_elements() == n && a.layout == y.layout &&
      b.layout == y.layout)
    return cuda::map2(operands, f);
  const bool by_four = cuda::four_at_once(loops);
  const int64_t steps = by_four ? n / 4 : n;
  const cuda::DeviceLoops<3> nest = cuda::on_device(loops, by_four ? 4 : 1);
  const bool wide_a = !is_narrow(a.type), wide_b = !is_narrow(b.type);  // a result in f32 has operands in f32
  return cuda::by_flag(by_four, [&](auto four) {
    return cuda::by_real(y.type, [&](auto zero) {
      using T = decltype(zero);
      return cuda::by_adding<T>(operands[2], [&](auto add) {
        return cuda::by_index(steps, [&](auto index) -> std::unique_ptr<Kernel> {
          using Index = decltype(index);
          return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
            cuda::launch("broadcast kernel",
                         broadcast_kernel<decltype(four)::value, decltype(add)::value, Index, T, F>,
                         cuda::blocks_for(steps), cuda::kThreads, context, static_cast<Index>(steps), nest,
                         Operand<T>{operand[0], wide_a}, Operand<T>{operand[1], wide_b}, cuda::out<T>(operand, 2), f);
          });
        });
      });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(BinaryAdd, { return attrs.relu ? binary(operands, AddRelu{}) : binary(operands, Add{}); })
PLIMSOLL_CUDA_KERNEL(BinarySub, return binary(operands, Sub{});)
PLIMSOLL_CUDA_KERNEL(BinaryMul, return binary(operands, Mul{});)
PLIMSOLL_CUDA_KERNEL(BinaryDiv, return binary(operands, Div{});)
PLIMSOLL_CUDA_KERNEL(BinaryMax, return binary(operands, Larger{});)
PLIMSOLL_CUDA_KERNEL(BinaryMin, return binary(operands, Smaller{});)
PLIMSOLL_CUDA_KERNEL(BinaryPow, return binary(operands, ToThePower{});)
PLIMSOLL_CUDA_KERNEL(BinaryPRelu, return binary(operands, Bend{});)
PLIMSOLL_CUDA_KERNEL(ScaleShift, return cuda::map(operands, BinaryScale{static_cast<float>(attrs.scale),
                                                                        static_cast<float>(attrs.shift)});)

}  // namespace plimsoll
