// <Name>Forward {x, y}   <Name>Backward {a, dy, dx}, where a is the output, or the input if the output is not
// sufficient.
#include "runtime/host/elementwise.h"
#include "runtime/host/gates.h"
#include "runtime/host/math.h"
#include "runtime/kernels.h"

namespace plimsoll {

PLIMSOLL_ELEMENTWISE(SigmoidForward, return host::map(operands, [](float x) { return host::sigmoid_of(x); });)
PLIMSOLL_ELEMENTWISE(SigmoidBackward,
                     return host::map2(operands, [](float y, float dy) { return dy * y * (1.0F - y); });)

PLIMSOLL_ELEMENTWISE(TanhForward, return host::map(operands, [](float x) { return host::tanh_of(x); });)
PLIMSOLL_ELEMENTWISE(TanhBackward, return host::map2(operands, [](float y, float dy) { return dy * (1.0F - y * y); });)

PLIMSOLL_ELEMENTWISE(LeakyReluForward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map(operands, [=](float x) { return x > 0 ? x : alpha * x; });
})
PLIMSOLL_ELEMENTWISE(LeakyReluBackward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map2(operands, [=](float a, float dy) { return a > 0 ? dy : alpha * dy; });
})

PLIMSOLL_ELEMENTWISE(EluForward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map(operands, [=](float x) { return x > 0 ? x : alpha * (host::exp_of(x) - 1.0F); });
})
PLIMSOLL_ELEMENTWISE(EluBackward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map2(operands, [=](float y, float dy) { return y > 0 ? dy : dy * (y + alpha); });
})

PLIMSOLL_ELEMENTWISE(ClipForward, {
  const float low = static_cast<float>(attrs.min), high = static_cast<float>(attrs.max);
  return host::map(operands, [=](float x) {
    const float above = x < low ? low : x;
    return above > high ? high : above;  // last, so that it also applies if low is above high
  });
})
PLIMSOLL_ELEMENTWISE(ClipBackward, {
  const float low = static_cast<float>(attrs.min), high = static_cast<float>(attrs.max);
  return host::map2(operands, [=](float y, float dy) { return y > low && y < high ? dy : 0.0F; });
})

PLIMSOLL_ELEMENTWISE(HardSigmoidForward, {
  const float alpha = static_cast<float>(attrs.alpha), beta = static_cast<float>(attrs.beta);
  return host::map(operands, [=](float x) {
    const float y = alpha * x + beta;
    return y > 1.0F ? 1.0F : y < 0.0F ? 0.0F : y;
  });
})
PLIMSOLL_ELEMENTWISE(HardSigmoidBackward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map2(operands, [=](float y, float dy) { return y > 0.0F && y < 1.0F ? alpha * dy : 0.0F; });
})

PLIMSOLL_ELEMENTWISE(HardSwishForward,
                     return host::map(operands, [](float x) { return host::HardSwishGate{}.value(x); });)
PLIMSOLL_ELEMENTWISE(HardSwishBackward, return host::map2(operands, [](float x, float dy) {
          return dy * host::HardSwishGate{}.slope(x);
        });)

// For large negative x the result is e^x; 1 + e^-|x| is in (1, 2].
PLIMSOLL_ELEMENTWISE(SoftplusForward, return host::map(operands, [](float x) {
          return (x > 0 ? x : 0.0F) + std::log1p(host::exp_of(-std::fabs(x)));
        });)
PLIMSOLL_ELEMENTWISE(SoftplusBackward,
                     return host::map2(operands, [](float x, float dy) { return dy * host::sigmoid_of(x); });)

PLIMSOLL_ELEMENTWISE(LogSigmoidForward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map(operands, [=](float x) {
    const float z = alpha * x;
    return (z < 0 ? z : 0.0F) - std::log1p(host::exp_of(-std::fabs(z)));
  });
})
PLIMSOLL_ELEMENTWISE(LogSigmoidBackward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map2(operands, [=](float x, float dy) { return dy * alpha * host::sigmoid_of(-alpha * x); });
})

PLIMSOLL_ELEMENTWISE(SoftsignForward, return host::map(operands, [](float x) { return x / (1.0F + std::fabs(x)); });)
PLIMSOLL_ELEMENTWISE(SoftsignBackward, return host::map2(operands, [](float x, float dy) {
          const float below = 1.0F + std::fabs(x);
          return dy / below / below;  // below² may overflow although dy / below² is finite
        });)

PLIMSOLL_ELEMENTWISE(ThresholdedReluForward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map(operands, [=](float x) { return x > alpha ? x : 0.0F; });
})
PLIMSOLL_ELEMENTWISE(ThresholdedReluBackward, {
  const float alpha = static_cast<float>(attrs.alpha);
  return host::map2(operands, [=](float a, float dy) { return a > alpha ? dy : 0.0F; });
})

PLIMSOLL_ELEMENTWISE(GeluForward, {
  if (attrs.by_tanh) return host::map(operands, [](float x) { return host::GeluTanhGate{}.value(x); });
  return host::map(operands, [](float x) { return host::GeluGate{}.value(x); });
})
PLIMSOLL_ELEMENTWISE(GeluBackward, {
  if (attrs.by_tanh) return host::map2(operands, [](float x, float dy) { return dy * host::GeluTanhGate{}.slope(x); });
  return host::map2(operands, [](float x, float dy) { return dy * host::GeluGate{}.slope(x); });
})

PLIMSOLL_ELEMENTWISE(MishForward, return host::map(operands, [](float x) { return host::MishGate{}.value(x); });)
PLIMSOLL_ELEMENTWISE(MishBackward, return host::map2(operands, [](float x, float dy) {
          return dy * host::MishGate{}.slope(x);
        });)

PLIMSOLL_ELEMENTWISE(SwishForward, {
  const host::SwishGate gate{static_cast<float>(attrs.alpha)};
  return host::map(operands, [=](float x) { return gate.value(x); });
})
PLIMSOLL_ELEMENTWISE(SwishBackward, {
  const host::SwishGate gate{static_cast<float>(attrs.alpha)};
  return host::map2(operands, [=](float x, float dy) { return dy * gate.slope(x); });
})

}  // namespace plimsoll
