// <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is the output, or the input if the output is not
// sufficient.
#include "runtime/cuda/device/elementwise.h"
#include "runtime/cuda/ops/gates.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Sigmoid {
  __device__ float operator()(float x) const { return 1.0F / (1.0F + expf(-x)); }
};
struct SigmoidSlope {
  __device__ float operator()(float y, float dy) const { return dy * y * (1.0F - y); }
};

struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};
struct TanhSlope {
  __device__ float operator()(float y, float dy) const { return dy * (1.0F - y * y); }
};

struct LeakyRelu {
  float alpha;
  __device__ float operator()(float x) const { return x > 0 ? x : alpha * x; }
};
struct LeakyReluSlope {
  float alpha;
  __device__ float operator()(float a, float dy) const { return a > 0 ? dy : alpha * dy; }
};

struct Elu {
  float alpha;
  __device__ float operator()(float x) const { return x > 0 ? x : alpha * (expf(x) - 1.0F); }
};
struct EluSlope {
  float alpha;
  __device__ float operator()(float y, float dy) const { return y > 0 ? dy : dy * (y + alpha); }
};

struct Clip {
  float low, high;
  __device__ float operator()(float x) const {
    const float above = x < low ? low : x;
    return above > high ? high : above;  // last, so that it also applies if low is above high
  }
};
struct ClipSlope {
  float low, high;
  __device__ float operator()(float y, float dy) const { return y > low && y < high ? dy : 0.0F; }
};

struct HardSigmoid {
  float alpha, beta;
  __device__ float operator()(float x) const {
    const float y = alpha * x + beta;
    return y > 1.0F ? 1.0F : y < 0.0F ? 0.0F : y;
  }
};
struct HardSigmoidSlope {
  float alpha;
  __device__ float operator()(float y, float dy) const { return y > 0.0F && y < 1.0F ? alpha * dy : 0.0F; }
};

struct Softplus {
  __device__ float operator()(float x) const { return (x > 0 ? x : 0.0F) + log1pf(expf(-fabsf(x))); }
};
struct SoftplusSlope {
  __device__ float operator()(float x, float dy) const { return dy / (1.0F + expf(-x)); }
};

struct LogSigmoid {
  float alpha;
  __device__ float operator()(float x) const {
    const float z = alpha * x;
    return (z < 0 ? z : 0.0F) - log1pf(expf(-fabsf(z)));
  }
};
struct LogSigmoidSlope {
  float alpha;
  __device__ float operator()(float x, float dy) const { return dy * alpha / (1.0F + expf(alpha * x)); }
};

struct Softsign {
  __device__ float operator()(float x) const { return x / (1.0F + fabsf(x)); }
};
struct SoftsignSlope {
  __device__ float operator()(float x, float dy) const {
    const float below = 1.0F + fabsf(x);
    return dy / below / below;  // below² may overflow although dy / below² is finite
  }
};

struct ThresholdedRelu {
  float alpha;
  __device__ float operator()(float x) const { return x > alpha ? x : 0.0F; }
};
struct ThresholdedReluSlope {
  float alpha;
  __device__ float operator()(float a, float dy) const { return a > alpha ? dy : 0.0F; }
};

float f(double attribute) { return static_cast<float>(attribute); }

}  // namespace

PLIMSOLL_CUDA_KERNEL(SigmoidForward, return cuda::map(operands, Sigmoid{});)
PLIMSOLL_CUDA_KERNEL(SigmoidBackward, return cuda::map2(operands, SigmoidSlope{});)
PLIMSOLL_CUDA_KERNEL(TanhForward, return cuda::map(operands, Tanh{});)
PLIMSOLL_CUDA_KERNEL(TanhBackward, return cuda::map2(operands, TanhSlope{});)
PLIMSOLL_CUDA_KERNEL(LeakyReluForward, return cuda::map(operands, LeakyRelu{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(LeakyReluBackward, return cuda::map2(operands, LeakyReluSlope{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(EluForward, return cuda::map(operands, Elu{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(EluBackward, return cuda::map2(operands, EluSlope{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(ClipForward, return cuda::map(operands, Clip{f(attrs.min), f(attrs.max)});)
PLIMSOLL_CUDA_KERNEL(ClipBackward, return cuda::map2(operands, ClipSlope{f(attrs.min), f(attrs.max)});)
PLIMSOLL_CUDA_KERNEL(HardSigmoidForward, return cuda::map(operands, HardSigmoid{f(attrs.alpha), f(attrs.beta)});)
PLIMSOLL_CUDA_KERNEL(HardSigmoidBackward, return cuda::map2(operands, HardSigmoidSlope{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(HardSwishForward, return cuda::map(operands, cuda::GateValue<cuda::HardSwishGate>{});)
PLIMSOLL_CUDA_KERNEL(HardSwishBackward, return cuda::map2(operands, cuda::GateSlope<cuda::HardSwishGate>{});)
PLIMSOLL_CUDA_KERNEL(MishForward, return cuda::map(operands, cuda::GateValue<cuda::MishGate>{});)
PLIMSOLL_CUDA_KERNEL(MishBackward, return cuda::map2(operands, cuda::GateSlope<cuda::MishGate>{});)
PLIMSOLL_CUDA_KERNEL(SoftplusForward, return cuda::map(operands, Softplus{});)
PLIMSOLL_CUDA_KERNEL(SoftplusBackward, return cuda::map2(operands, SoftplusSlope{});)
PLIMSOLL_CUDA_KERNEL(LogSigmoidForward, return cuda::map(operands, LogSigmoid{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(LogSigmoidBackward, return cuda::map2(operands, LogSigmoidSlope{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(SoftsignForward, return cuda::map(operands, Softsign{});)
PLIMSOLL_CUDA_KERNEL(SoftsignBackward, return cuda::map2(operands, SoftsignSlope{});)
PLIMSOLL_CUDA_KERNEL(ThresholdedReluForward, return cuda::map(operands, ThresholdedRelu{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(ThresholdedReluBackward, return cuda::map2(operands, ThresholdedReluSlope{f(attrs.alpha)});)
PLIMSOLL_CUDA_KERNEL(GeluForward, return cuda::map(operands, cuda::GateValue{cuda::GeluGate{attrs.by_tanh}});)
PLIMSOLL_CUDA_KERNEL(GeluBackward, return cuda::map2(operands, cuda::GateSlope{cuda::GeluGate{attrs.by_tanh}});)
PLIMSOLL_CUDA_KERNEL(SwishForward, return cuda::map(operands, cuda::GateValue{cuda::SwishGate{f(attrs.alpha)}});)
PLIMSOLL_CUDA_KERNEL(SwishBackward, return cuda::map2(operands, cuda::GateSlope{cuda::SwishGate{f(attrs.alpha)}});)

}  // namespace plimsoll
