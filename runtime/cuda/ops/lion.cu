// LionUpdate {w, g, m, low?, factor?}: Chen et al. 2023, as in timm.optim.Lion. m is initially zero. An `update`
// gradient is cleared.
#include "runtime/cuda/ops/update.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Lion {
  double scale, weight_decay;
  float beta1, rest1, beta2, rest2;
  Lion(const LionAttrs& attrs, double rate_scale)
      : scale(rate_scale), weight_decay(attrs.weight_decay), beta1(static_cast<float>(attrs.beta1)),
        rest1(static_cast<float>(1 - attrs.beta1)), beta2(static_cast<float>(attrs.beta2)),
        rest2(static_cast<float>(1 - attrs.beta2)) {}
  friend bool operator==(const Lion&, const Lion&) = default;

  struct Step {
    float beta1, rest1, beta2, rest2, shrink, step;
    __device__ void operator()(float& w, float g, float& m, float&) const {
      const float u = beta1 * m + rest1 * g;
      w = shrink * w - (u > 0 ? step : u < 0 ? -step : 0 * u);  // NaN is preserved
      m = beta2 * m + rest2 * g;
    }
  };
  __device__ Step at(const cuda::Changing& now) const {
    const double rate = now.learning_rate * scale;
    return {beta1, rest1, beta2, rest2, static_cast<float>(1 - rate * weight_decay), static_cast<float>(rate)};
  }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(LionUpdate, return (cuda::update<1, Lion>(operands, attrs));)

}  // namespace plimsoll
