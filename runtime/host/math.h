// Elementary functions for vectorizable loops: branch-free, in float, accurate to about 2 ulp. libm's functions are
// scalar unless the compiler may reorder arithmetic, which would cost determinism.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plimsoll::host {

// e^x = 2^n · e^r with n = round(x / ln 2) and |r| <= ln 2 / 2; the polynomial is that of Cephes' expf (Moshier).
// Underflows to 0 below -87.3, overflows to infinity above 88.7; NaN is preserved.
inline float exp_of(float x) {
  const float bounded = x > 88.7228F ? 88.7228F : x < -87.3365F ? -87.3365F : x;
  // Adding 1.5 · 2^23 rounds to an integer, in the processor's rounding mode (to nearest).
  const float n = (bounded * 1.44269504F + 12582912.0F) - 12582912.0F;
  const float r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  // Split into two factors, because 2^128 is not a float.
  const int32_t whole = static_cast<int32_t>(n), half = whole / 2;
  const float scale = std::bit_cast<float>((half + 127) << 23), rest = std::bit_cast<float>((whole - half + 127) << 23);
  const float value = p * scale * rest;
  return x > 88.7228F ? INFINITY : x < -87.3365F ? 0.0F : value;
}

inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

// Near 0, where 1 - 2 / (e^2x + 1) suffers from cancellation, uses Cephes' odd polynomial.
inline float tanh_of(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float small = p * z * x + x;
  const float large = 1.0F - 2.0F / (exp_of(2.0F * x) + 1.0F);
  return std::fabs(x) < 0.625F ? small : large;
}

// Abramowitz and Stegun 7.1.26 is accurate to 1.5e-7 above 0.5; below, the Taylor series is used.
inline float erf_of(float x) {
  const float a = std::fabs(x), z = x * x;
  float s = 1.0F / 1320.0F;
  s = -(s * z) + 1.0F / 216.0F;
  s = -(s * z) + 1.0F / 42.0F;
  s = -(s * z) + 1.0F / 10.0F;
  s = -(s * z) + 1.0F / 3.0F;
  const float small = 1.12837917F * x * (1.0F - z * s);
  const float t = 1.0F / (1.0F + 0.3275911F * a);
  float p = 1.061405429F;
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const float large = 1.0F - p * t * exp_of(-z);
  return a < 0.5F ? small : x < 0.0F ? -large : large;
}

}  // namespace plimsoll::host
