// <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is the output, or the input where the output does not tell.
#include "runtime/attrs/pow.h"

#include "runtime/cuda/elementwise.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr float kTwoOverSqrtPi = 1.12837916709551257F;

struct Erf {
  __device__ float operator()(float x) const { return erff(x); }
};
struct ErfSlope {
  __device__ float operator()(float x, float dy) const { return dy * kTwoOverSqrtPi * expf(-x * x); }
};

struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};

struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};

struct Reciprocal {
  __device__ float operator()(float x) const { return 1.0F / x; }
};
struct ReciprocalSlope {
  __device__ float operator()(float y, float dy) const { return -dy * y * y; }
};

struct Sqrt {
  __device__ float operator()(float x) const { return sqrtf(x); }
};
struct SqrtSlope {
  __device__ float operator()(float y, float dy) const { return 0.5F * dy / y; }
};

// Squares and cubes are most of them.
struct Pow {
  float e;
  __device__ float operator()(float x) const { return e == 2 ? x * x : e == 3 ? x * x * x : powf(x, e); }
};
struct PowSlope {
  float e;
  __device__ float operator()(float x, float dy) const {
    return e == 2 ? 2.0F * dy * x : e == 3 ? 3.0F * dy * x * x : dy * e * powf(x, e - 1.0F);
  }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(ErfForward, return cuda::map(operands, Erf{});)
PLIMSOLL_CUDA_KERNEL(ErfBackward, return cuda::map2(operands, ErfSlope{});)
PLIMSOLL_CUDA_KERNEL(ExpForward, return cuda::map(operands, Exp{});)
PLIMSOLL_CUDA_KERNEL(LogForward, return cuda::map(operands, Log{});)
PLIMSOLL_CUDA_KERNEL(ReciprocalForward, return cuda::map(operands, Reciprocal{});)
PLIMSOLL_CUDA_KERNEL(ReciprocalBackward, return cuda::map2(operands, ReciprocalSlope{});)
PLIMSOLL_CUDA_KERNEL(SqrtForward, return cuda::map(operands, Sqrt{});)
PLIMSOLL_CUDA_KERNEL(SqrtBackward, return cuda::map2(operands, SqrtSlope{});)
PLIMSOLL_CUDA_KERNEL(PowForward, return cuda::map(operands, Pow{static_cast<float>(attrs.exponent)});)
PLIMSOLL_CUDA_KERNEL(PowBackward, return cuda::map2(operands, PowSlope{static_cast<float>(attrs.exponent)});)

}  // namespace plimsoll
