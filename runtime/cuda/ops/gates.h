// Activations that multiply x by a gate between 0 and 1: value() is the activation, slope() its derivative.
#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

struct SwishGate {
  float alpha;
  __device__ float value(float x) const { return x / (1.0F + expf(-alpha * x)); }
  __device__ float slope(float x) const {
    const float s = 1.0F / (1.0F + expf(-alpha * x));
    return s + alpha * x * s * (1.0F - s);
  }
};

struct HardSwishGate {
  __device__ float value(float x) const {
    const float gate = x * (1.0F / 6) + 0.5F;
    return x * (gate > 1.0F ? 1.0F : gate < 0.0F ? 0.0F : gate);
  }
  __device__ float slope(float x) const {
    const float within = x * (1.0F / 3) + 0.5F;
    return x >= 3.0F ? 1.0F : x <= -3.0F ? 0.0F : within;
  }
};

// With e = e^x, tanh(log(1 + e)) = n / (n + 2) for n = e · (e + 2). From x = 20 on, that is 1 to the last bit.
struct MishGate {
  __device__ static float exponential(float x) { return expf(x > 20.0F ? 20.0F : x); }
  __device__ float value(float x) const {
    const float e = exponential(x), n = e * (e + 2.0F);
    return x * (n / (n + 2.0F));
  }
  __device__ float slope(float x) const {
    const float e = exponential(x), n = e * (e + 2.0F), below = 1.0F / (n + 2.0F);
    return n * below + x * (4.0F * e * below) * ((1.0F + e) * below);
  }
};

struct GeluGate {
  bool by_tanh;
  static constexpr float kSqrtHalf = 0.70710678118654752F;
  static constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;
  static constexpr float kSqrtTwoOverPi = 0.79788456080286536F;
  static constexpr float kCubic = 0.044715F;
  __device__ float value(float x) const {
    if (by_tanh) return 0.5F * x * (1.0F + tanhf(kSqrtTwoOverPi * (x + kCubic * x * x * x)));
    return 0.5F * x * (1.0F + erff(x * kSqrtHalf));
  }
  __device__ float slope(float x) const {
    if (by_tanh) {
      const float t = tanhf(kSqrtTwoOverPi * (x + kCubic * x * x * x));
      const float inner = kSqrtTwoOverPi * (1.0F + 3.0F * kCubic * x * x);
      return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * inner;
    }
    const float area = 0.5F * (1.0F + erff(x * kSqrtHalf));
    return area + x * kInverseSqrtTwoPi * expf(-0.5F * x * x);
  }
};

// Functions on elements, for cuda::map and cuda::map2.
template <class Gate>
struct GateValue {
  Gate gate;
  __device__ float operator()(float x) const { return gate.value(x); }
};
template <class Gate>
struct GateSlope {
  Gate gate;
  __device__ float operator()(float x, float dy) const { return dy * gate.slope(x); }
};
template <class Gate>
struct GatedFactor {
  Gate gate;
  __device__ float operator()(float a, float b) const { return gate.value(a) * b; }
};

}  // namespace plimsoll::cuda
