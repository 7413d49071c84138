// Elementary functions for vectorizable loops: branch-free, in float, accurate to about 3 ulp. libm's functions are
// scalar unless the compiler may reorder arithmetic, which would cost determinism.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plimsoll::host {

// a · b + c, rounded once where the processor can. Stated, because contraction is off for the whole backend.
inline float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// first + x · (second + x · (third + …))
inline float polynomial(float, float first) { return first; }
template <class... Coefficients>
float polynomial(float x, float first, Coefficients... others) {
  return multiply_add(polynomial(x, others...), x, first);
}

// e^x = 2^n · e^r with n = round(x / ln 2) and |r| <= ln 2 / 2; the polynomial is that of Cephes' expf (Moshier).
// Underflows to 0 below -87.3, overflows to infinity above 88.7; NaN is preserved.
inline float exp_of(float x) {
  const float bounded = x > 88.7228F ? 88.7228F : x < -87.3365F ? -87.3365F : x;
  // Adding 1.5 · 2^23 rounds to an integer, in the processor's rounding mode (to nearest).
  const float n = multiply_add(bounded, 1.44269504F, 12582912.0F) - 12582912.0F;
  const float r = multiply_add(n, 2.12194440e-4F, multiply_add(n, -0.693359375F, bounded));
  const float above = polynomial(r, 5.0000001201e-1F, 1.6666665459e-1F, 4.1665795894e-2F, 8.3334519073e-3F,
                                 1.3981999507e-3F, 1.9875691500e-4F);
  const float p = multiply_add(above * r, r, r) + 1.0F;
  // Split into two factors, because 2^128 is not a float.
  const int32_t whole = static_cast<int32_t>(n), half = whole >> 1;
  const float scale = std::bit_cast<float>((half + 127) << 23), rest = std::bit_cast<float>((whole - half + 127) << 23);
  const float value = p * scale * rest;
  return x > 88.7228F ? INFINITY : x < -87.3365F ? 0.0F : value;
}

inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

// Near 0, where 1 - 2 / (e^2x + 1) suffers from cancellation, uses Cephes' odd polynomial.
inline float tanh_of(float x) {
  const float z = x * x;
  const float above =
      polynomial(z, -3.33332819422e-1F, 1.33314422036e-1F, -5.37397155531e-2F, 2.06390887954e-2F, -5.70498872745e-3F);
  const float small = multiply_add(above * z, x, x);
  const float large = 1.0F - 2.0F / (exp_of(2.0F * x) + 1.0F);
  return std::fabs(x) < 0.625F ? small : large;
}

// x · P(x²) / Q(x²) with the least relative error up to 3.92, from where on the result is rounded to 1.
inline float erf_of(float x) {
  const float z = x * x;
  const float p = polynomial(z, 1.12837911F, 0.199890535F, 0.0505687158F, 0.00370014105F, 1.41814023e-4F,
                             -1.95768035e-6F, 1.99247475e-8F);
  const float q = polynomial(z, 1.0F, 0.510480036F, 0.114984261F, 0.0143502388F, 9.55679316e-4F), value = x * p / q;
  return x > 3.92F ? 1.0F : x < -3.92F ? -1.0F : value;
}

}  // namespace plimsoll::host
