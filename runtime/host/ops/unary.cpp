// <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is the output, or the input if the output is not
// sufficient. These are the parts of normalizations and activations written as primitive operators; Exp and Log use
// BinaryMul and BinaryDiv in the backward.
#include "runtime/host/elementwise.h"
#include "runtime/host/math.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr float kTwoOverSqrtPi = 1.12837916709551257F;

}  // namespace

PLIMSOLL_ELEMENTWISE(AbsForward, return host::map(operands, [](float x) { return std::fabs(x); });)
PLIMSOLL_ELEMENTWISE(AbsBackward, return host::map2(operands, [](float x, float dy) {
                       return x > 0 ? dy : x < 0 ? -dy : 0.0F;
                     });)

PLIMSOLL_ELEMENTWISE(AtanForward, return host::map(operands, [](float x) { return std::atan(x); });)
PLIMSOLL_ELEMENTWISE(AtanBackward, return host::map2(operands, [](float x, float dy) { return dy / (1.0F + x * x); });)

PLIMSOLL_ELEMENTWISE(CeilForward, return host::map(operands, [](float x) { return std::ceil(x); });)

PLIMSOLL_ELEMENTWISE(CosForward, return host::map(operands, [](float x) { return std::cos(x); });)
PLIMSOLL_ELEMENTWISE(CosBackward, return host::map2(operands, [](float x, float dy) { return -dy * std::sin(x); });)

PLIMSOLL_ELEMENTWISE(ErfForward, return host::map(operands, [](float x) { return host::erf_of(x); });)
PLIMSOLL_ELEMENTWISE(ErfBackward, return host::map2(operands, [](float x, float dy) {
                       return dy * kTwoOverSqrtPi * host::exp_of(-x * x);
                     });)

PLIMSOLL_ELEMENTWISE(ExpForward, return host::map(operands, [](float x) { return host::exp_of(x); });)

PLIMSOLL_ELEMENTWISE(FloorForward, return host::map(operands, [](float x) { return std::floor(x); });)

PLIMSOLL_ELEMENTWISE(LogForward, return host::map(operands, [](float x) { return std::log(x); });)
// A result without a gradient has none to pass on, even from 0: a binary cross entropy clamps the logarithm of 0.
PLIMSOLL_ELEMENTWISE(LogBackward, return host::map2(operands, [](float x, float dy) {
                       return dy == 0 ? 0.0F : dy / x;
                     });)

PLIMSOLL_ELEMENTWISE(ReciprocalForward, return host::map(operands, [](float x) { return 1.0F / x; });)
PLIMSOLL_ELEMENTWISE(ReciprocalBackward, return host::map2(operands, [](float y, float dy) { return -dy * y * y; });)

// In the processor's rounding mode: to nearest, ties to even.
PLIMSOLL_ELEMENTWISE(RoundForward, return host::map(operands, [](float x) { return std::nearbyint(x); });)

PLIMSOLL_ELEMENTWISE(SignForward, return host::map(operands, [](float x) {
                       return x > 0 ? 1.0F : x < 0 ? -1.0F : 0.0F;
                     });)

PLIMSOLL_ELEMENTWISE(SinForward, return host::map(operands, [](float x) { return std::sin(x); });)
PLIMSOLL_ELEMENTWISE(SinBackward, return host::map2(operands, [](float x, float dy) { return dy * std::cos(x); });)

PLIMSOLL_ELEMENTWISE(SqrtForward, return host::map(operands, [](float x) { return std::sqrt(x); });)
// The slope at 0 is infinite. 0 is taken for it: the distance of a point to itself must not make all gradients NaN.
PLIMSOLL_ELEMENTWISE(SqrtBackward, return host::map2(operands, [](float y, float dy) {
                       return y == 0 ? 0.0F : 0.5F * dy / y;
                     });)

PLIMSOLL_ELEMENTWISE(AcosForward, return host::map(operands, [](float x) { return std::acos(x); });)
PLIMSOLL_ELEMENTWISE(AcosBackward, return host::map2(operands, [](float x, float dy) {
                       return -dy / std::sqrt(1.0F - x * x);
                     });)

PLIMSOLL_ELEMENTWISE(AcoshForward, return host::map(operands, [](float x) { return std::acosh(x); });)
PLIMSOLL_ELEMENTWISE(AcoshBackward, return host::map2(operands, [](float x, float dy) {
                       return dy / std::sqrt((x - 1.0F) * (x + 1.0F));
                     });)

PLIMSOLL_ELEMENTWISE(AsinForward, return host::map(operands, [](float x) { return std::asin(x); });)
PLIMSOLL_ELEMENTWISE(AsinBackward, return host::map2(operands, [](float x, float dy) {
                       return dy / std::sqrt(1.0F - x * x);
                     });)

PLIMSOLL_ELEMENTWISE(AsinhForward, return host::map(operands, [](float x) { return std::asinh(x); });)
PLIMSOLL_ELEMENTWISE(AsinhBackward, return host::map2(operands, [](float x, float dy) {
                       return dy / std::sqrt(1.0F + x * x);
                     });)

PLIMSOLL_ELEMENTWISE(AtanhForward, return host::map(operands, [](float x) { return std::atanh(x); });)
PLIMSOLL_ELEMENTWISE(AtanhBackward, return host::map2(operands, [](float x, float dy) { return dy / (1.0F - x * x); });)

PLIMSOLL_ELEMENTWISE(CoshForward, return host::map(operands, [](float x) { return std::cosh(x); });)
PLIMSOLL_ELEMENTWISE(CoshBackward, return host::map2(operands, [](float x, float dy) { return dy * std::sinh(x); });)

PLIMSOLL_ELEMENTWISE(SinhForward, return host::map(operands, [](float x) { return std::sinh(x); });)
PLIMSOLL_ELEMENTWISE(SinhBackward, return host::map2(operands, [](float x, float dy) { return dy * std::cosh(x); });)

// Squares and cubes are the most common cases.
PLIMSOLL_ELEMENTWISE(PowForward, {
  const float e = static_cast<float>(attrs.exponent);
  if (e == 2) return host::map(operands, [](float x) { return x * x; });
  if (e == 3) return host::map(operands, [](float x) { return x * x * x; });
  return host::map(operands, [=](float x) { return std::pow(x, e); });
})
PLIMSOLL_ELEMENTWISE(PowBackward, {
  const float e = static_cast<float>(attrs.exponent);
  if (e == 0) return host::map2(operands, [](float, float) { return 0.0F; });  // x^-1 is infinite at 0
  if (e == 2) return host::map2(operands, [](float x, float dy) { return 2.0F * dy * x; });
  if (e == 3) return host::map2(operands, [](float x, float dy) { return 3.0F * dy * x * x; });
  return host::map2(operands, [=](float x, float dy) { return dy * e * std::pow(x, e - 1.0F); });
})

}  // namespace plimsoll
