// Elementary functions for vectorizable loops: branch-free, in float, accurate to about 3 ulp. libm's functions are
// scalar unless the compiler may reorder arithmetic, which would cost determinism.
#pragma once

#include <cmath>

#include "runtime/host/vectors.h"

namespace plimsoll::host {

// first + x · (second + x · (third + …))
template <class V>
inline V polynomial(V, float first) {
  return all_lanes<V>(first);
}
template <class V, class... Coefficients>
inline V polynomial(V x, float first, Coefficients... others) {
  return multiply_add(polynomial(x, others...), x, all_lanes<V>(first));
}

// e^x = 2^n · e^r with n = round(x / ln 2) and |r| <= ln 2 / 2; the polynomial is that of Cephes' expf (Moshier).
// Underflows to 0 below -86.99, at 1.6e-38; overflows to infinity above 88.72; NaN is preserved.
template <class V>
inline V exponential(V x) {
  const auto all = [](float one) { return all_lanes<V>(one); };
  // Bounds within which n is from -126 to 128.
  const V bounded = x > all(89.0F) ? all(89.0F) : x < all(-87.5F) ? all(-87.5F) : x;
  // Adding 1.5 · 2^23 rounds to an integer, in the processor's rounding mode (to nearest). It is in the lowest bits.
  const V shifted = multiply_add(bounded, all(1.44269504F), all(12582912.0F)), n = shifted - 12582912.0F;
  const V r = multiply_add(n, all(2.12194440e-4F), multiply_add(n, all(-0.693359375F), bounded));
  const V above = polynomial(r, 5.0000001201e-1F, 1.6666665459e-1F, 4.1665795894e-2F, 8.3334519073e-3F,
                             1.3981999507e-3F, 1.9875691500e-4F);
  const V p = multiply_add(above * r, r, r) + 1.0F;
  // 2^(n - 1), because 2^128 is not a float. Its exponent is n + 126; 0 at n = -126 makes the result 0.
  return (p + p) * float_of((bits_of(shifted) << 23) + (126U << 23));
}
inline float exp_of(float x) { return exponential(x); }

// log x = e · ln 2 + log m with x = m · 2^e and m from sqrt(1/2) to sqrt(2); the polynomial is that of Cephes' logf
// (Moshier). Before: x is a normal number; otherwise the result is NaN if x is infinite or NaN, and else unspecified.
inline float log_of(float x) {
  const uint32_t bits = bits_of(x);
  const int32_t exponent = static_cast<int32_t>(bits - 0x3F3504F3U) >> 23;
  const float z = float_of(bits - (static_cast<uint32_t>(exponent) << 23)) - 1.0F, e = static_cast<float>(exponent);
  const float above =
      polynomial(z, 3.3333331174e-1F, -2.4999993993e-1F, 2.0000714765e-1F, -1.6668057665e-1F, 1.4249322787e-1F,
                 -1.2420140846e-1F, 1.1676998740e-1F, -1.1514610310e-1F, 7.0376836292e-2F);
  const float small = multiply_add(above * z, z * z, multiply_add(e, -2.12194440e-4F, -0.5F * z * z));
  return multiply_add(e, 0.693359375F, small + z) + (x - x);
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
