// Activations that multiply x by a gate between 0 and 1: value() is the activation, slope() its derivative.
#pragma once

#include "runtime/host/math.h"

namespace plimsoll::host {

struct SwishGate {
  float alpha = 1;
  float value(float x) const { return x * sigmoid_of(alpha * x); }
  float slope(float x) const {
    const float s = sigmoid_of(alpha * x);
    return s + alpha * x * s * (1.0F - s);
  }
};

struct HardSwishGate {
  float value(float x) const {
    const float gate = x * (1.0F / 6) + 0.5F;
    return x * (gate > 1.0F ? 1.0F : gate < 0.0F ? 0.0F : gate);
  }
  float slope(float x) const {
    const float within = x * (1.0F / 3) + 0.5F;
    return x >= 3.0F ? 1.0F : x <= -3.0F ? 0.0F : within;
  }
};

// With e = e^x, tanh(log(1 + e)) = n / (n + 2) for n = e · (e + 2). From x = 20 on, that is 1 to the last bit.
struct MishGate {
  static float exponential(float x) { return exp_of(x > 20.0F ? 20.0F : x); }
  float value(float x) const {
    const float e = exponential(x), n = e * (e + 2.0F);
    return x * (n / (n + 2.0F));
  }
  float slope(float x) const {
    const float e = exponential(x), n = e * (e + 2.0F), below = 1.0F / (n + 2.0F);
    return n * below + x * (4.0F * e * below) * ((1.0F + e) * below);
  }
};

struct GeluGate {
  static constexpr float kSqrtHalf = 0.70710678118654752F;
  static constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;
  float value(float x) const { return 0.5F * x * (1.0F + erf_of(x * kSqrtHalf)); }
  float slope(float x) const {
    const float area = 0.5F * (1.0F + erf_of(x * kSqrtHalf));
    return area + x * kInverseSqrtTwoPi * exp_of(-0.5F * x * x);
  }
};

// The tanh approximation.
struct GeluTanhGate {
  static constexpr float kSqrtTwoOverPi = 0.79788456080286536F;
  static constexpr float kCubic = 0.044715F;
  float value(float x) const { return 0.5F * x * (1.0F + tanh_of(kSqrtTwoOverPi * (x + kCubic * x * x * x))); }
  float slope(float x) const {
    const float t = tanh_of(kSqrtTwoOverPi * (x + kCubic * x * x * x));
    const float inner = kSqrtTwoOverPi * (1.0F + 3.0F * kCubic * x * x);
    return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * inner;
  }
};

}  // namespace plimsoll::host
