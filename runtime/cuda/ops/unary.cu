// <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is the output, or the input if the output is not
// sufficient.
#include "runtime/attrs/pow.h"

#include "runtime/cuda/device/elementwise.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr float kTwoOverSqrtPi = 1.12837916709551257F;

struct Abs {
  __device__ float operator()(float x) const { return fabsf(x); }
};
struct AbsSlope {
  __device__ float operator()(float x, float dy) const { return x > 0 ? dy : x < 0 ? -dy : 0.0F; }
};

struct Atan {
  __device__ float operator()(float x) const { return atanf(x); }
};
struct AtanSlope {
  __device__ float operator()(float x, float dy) const { return dy / (1.0F + x * x); }
};

struct Ceil {
  __device__ float operator()(float x) const { return ceilf(x); }
};

struct Cos {
  __device__ float operator()(float x) const { return cosf(x); }
};
struct CosSlope {
  __device__ float operator()(float x, float dy) const { return -dy * sinf(x); }
};

struct Erf {
  __device__ float operator()(float x) const { return erff(x); }
};
struct ErfSlope {
  __device__ float operator()(float x, float dy) const { return dy * kTwoOverSqrtPi * expf(-x * x); }
};

struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};

struct Floor {
  __device__ float operator()(float x) const { return floorf(x); }
};

struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};

// A result without a gradient has none to pass on, even from 0: a binary cross entropy clamps the logarithm of 0.
struct LogSlope {
  __device__ float operator()(float x, float dy) const { return dy == 0 ? 0.0F : dy / x; }
};

struct Reciprocal {
  __device__ float operator()(float x) const { return 1.0F / x; }
};
struct ReciprocalSlope {
  __device__ float operator()(float y, float dy) const { return -dy * y * y; }
};

// To nearest, ties to even.
struct RoundToEven {
  __device__ float operator()(float x) const { return rintf(x); }
};

struct Sign {
  __device__ float operator()(float x) const { return x > 0 ? 1.0F : x < 0 ? -1.0F : 0.0F; }
};

struct Sin {
  __device__ float operator()(float x) const { return sinf(x); }
};
struct SinSlope {
  __device__ float operator()(float x, float dy) const { return dy * cosf(x); }
};

struct Sqrt {
  __device__ float operator()(float x) const { return sqrtf(x); }
};
struct SqrtSlope {
  __device__ float operator()(float y, float dy) const { return y == 0 ? 0.0F : 0.5F * dy / y; }
};

struct Acos {
  __device__ float operator()(float x) const { return acosf(x); }
};
struct AcosSlope {
  __device__ float operator()(float x, float dy) const { return -dy / sqrtf(1.0F - x * x); }
};

struct Acosh {
  __device__ float operator()(float x) const { return acoshf(x); }
};
struct AcoshSlope {
  __device__ float operator()(float x, float dy) const { return dy / sqrtf((x - 1.0F) * (x + 1.0F)); }
};

struct Asin {
  __device__ float operator()(float x) const { return asinf(x); }
};
struct AsinSlope {
  __device__ float operator()(float x, float dy) const { return dy / sqrtf(1.0F - x * x); }
};

struct Asinh {
  __device__ float operator()(float x) const { return asinhf(x); }
};
struct AsinhSlope {
  __device__ float operator()(float x, float dy) const { return dy / sqrtf(1.0F + x * x); }
};

struct Atanh {
  __device__ float operator()(float x) const { return atanhf(x); }
};
struct AtanhSlope {
  __device__ float operator()(float x, float dy) const { return dy / (1.0F - x * x); }
};

struct Cosh {
  __device__ float operator()(float x) const { return coshf(x); }
};
struct CoshSlope {
  __device__ float operator()(float x, float dy) const { return dy * sinhf(x); }
};

struct Sinh {
  __device__ float operator()(float x) const { return sinhf(x); }
};
struct SinhSlope {
  __device__ float operator()(float x, float dy) const { return dy * coshf(x); }
};

// Squares and cubes are the most common cases.
struct Pow {
  float e;
  __device__ float operator()(float x) const { return e == 2 ? x * x : e == 3 ? x * x * x : powf(x, e); }
};
struct PowSlope {
  float e;
  __device__ float operator()(float x, float dy) const {
    if (e == 0) return 0;  // x^-1 is infinite at 0
    return e == 2 ? 2.0F * dy * x : e == 3 ? 3.0F * dy * x * x : dy * e * powf(x, e - 1.0F);
  }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(AbsForward, return cuda::map(operands, Abs{});)
PLIMSOLL_CUDA_KERNEL(AbsBackward, return cuda::map2(operands, AbsSlope{});)
PLIMSOLL_CUDA_KERNEL(AtanForward, return cuda::map(operands, Atan{});)
PLIMSOLL_CUDA_KERNEL(AtanBackward, return cuda::map2(operands, AtanSlope{});)
PLIMSOLL_CUDA_KERNEL(CeilForward, return cuda::map(operands, Ceil{});)
PLIMSOLL_CUDA_KERNEL(CosForward, return cuda::map(operands, Cos{});)
PLIMSOLL_CUDA_KERNEL(CosBackward, return cuda::map2(operands, CosSlope{});)
PLIMSOLL_CUDA_KERNEL(ErfForward, return cuda::map(operands, Erf{});)
PLIMSOLL_CUDA_KERNEL(ErfBackward, return cuda::map2(operands, ErfSlope{});)
PLIMSOLL_CUDA_KERNEL(ExpForward, return cuda::map(operands, Exp{});)
PLIMSOLL_CUDA_KERNEL(FloorForward, return cuda::map(operands, Floor{});)
PLIMSOLL_CUDA_KERNEL(LogForward, return cuda::map(operands, Log{});)
PLIMSOLL_CUDA_KERNEL(LogBackward, return cuda::map2(operands, LogSlope{});)
PLIMSOLL_CUDA_KERNEL(ReciprocalForward, return cuda::map(operands, Reciprocal{});)
PLIMSOLL_CUDA_KERNEL(ReciprocalBackward, return cuda::map2(operands, ReciprocalSlope{});)
PLIMSOLL_CUDA_KERNEL(RoundForward, return cuda::map(operands, RoundToEven{});)
PLIMSOLL_CUDA_KERNEL(SignForward, return cuda::map(operands, Sign{});)
PLIMSOLL_CUDA_KERNEL(SinForward, return cuda::map(operands, Sin{});)
PLIMSOLL_CUDA_KERNEL(SinBackward, return cuda::map2(operands, SinSlope{});)
PLIMSOLL_CUDA_KERNEL(SqrtForward, return cuda::map(operands, Sqrt{});)
PLIMSOLL_CUDA_KERNEL(SqrtBackward, return cuda::map2(operands, SqrtSlope{});)
PLIMSOLL_CUDA_KERNEL(AcosForward, return cuda::map(operands, Acos{});)
PLIMSOLL_CUDA_KERNEL(AcosBackward, return cuda::map2(operands, AcosSlope{});)
PLIMSOLL_CUDA_KERNEL(AcoshForward, return cuda::map(operands, Acosh{});)
PLIMSOLL_CUDA_KERNEL(AcoshBackward, return cuda::map2(operands, AcoshSlope{});)
PLIMSOLL_CUDA_KERNEL(AsinForward, return cuda::map(operands, Asin{});)
PLIMSOLL_CUDA_KERNEL(AsinBackward, return cuda::map2(operands, AsinSlope{});)
PLIMSOLL_CUDA_KERNEL(AsinhForward, return cuda::map(operands, Asinh{});)
PLIMSOLL_CUDA_KERNEL(AsinhBackward, return cuda::map2(operands, AsinhSlope{});)
PLIMSOLL_CUDA_KERNEL(AtanhForward, return cuda::map(operands, Atanh{});)
PLIMSOLL_CUDA_KERNEL(AtanhBackward, return cuda::map2(operands, AtanhSlope{});)
PLIMSOLL_CUDA_KERNEL(CoshForward, return cuda::map(operands, Cosh{});)
PLIMSOLL_CUDA_KERNEL(CoshBackward, return cuda::map2(operands, CoshSlope{});)
PLIMSOLL_CUDA_KERNEL(SinhForward, return cuda::map(operands, Sinh{});)
PLIMSOLL_CUDA_KERNEL(SinhBackward, return cuda::map2(operands, SinhSlope{});)
PLIMSOLL_CUDA_KERNEL(PowForward, return cuda::map(operands, Pow{static_cast<float>(attrs.exponent)});)
PLIMSOLL_CUDA_KERNEL(PowBackward, return cuda::map2(operands, PowSlope{static_cast<float>(attrs.exponent)});)

}  // namespace plimsoll
