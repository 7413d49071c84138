// AdamUpdate {w, g, m, v, low?, factor?}: torch.optim.Adam, or AdamW if decoupled. The step count is that of the
// iterations that were not skipped; m and v are initially zero. An `update` gradient is cleared.
#include "runtime/cuda/ops/update.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Adam {
  double scale, beta1, beta2, epsilon, weight_decay;
  bool decoupled;
  Adam(const AdamAttrs& attrs, double rate_scale)
      : scale(rate_scale),
        beta1(attrs.beta1),
        beta2(attrs.beta2),
        epsilon(attrs.epsilon),
        weight_decay(attrs.weight_decay),
        decoupled(attrs.decoupled) {}
  friend bool operator==(const Adam&, const Adam&) = default;

  struct Step {
    float beta1, rest1, beta2, rest2, epsilon, decay, shrink, step_size, root;
    __device__ void operator()(float& w, float g, float& m, float& v) const {
      const float gradient = g + decay * w;
      m = beta1 * m + rest1 * gradient;
      v = beta2 * v + rest2 * gradient * gradient;
      w = shrink * w - step_size * m / (sqrtf(v) / root + epsilon);
    }
  };
  // Scalars are double, as in Python; elements are float.
  __device__ Step at(const cuda::Changing& now) const {
    const double step = static_cast<double>(now.iteration - now.skipped + 1), rate = now.learning_rate * scale;
    const double seen1 = 1 - pow(beta1, step), seen2 = 1 - pow(beta2, step);
    return {.beta1 = static_cast<float>(beta1),
            .rest1 = static_cast<float>(1 - beta1),
            .beta2 = static_cast<float>(beta2),
            .rest2 = static_cast<float>(1 - beta2),
            .epsilon = static_cast<float>(epsilon),
            .decay = decoupled ? 0 : static_cast<float>(weight_decay),
            .shrink = decoupled ? static_cast<float>(1 - rate * weight_decay) : 1,
            .step_size = static_cast<float>(rate / seen1),
            .root = static_cast<float>(sqrt(seen2))};
  }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(AdamUpdate, {
  return (cuda::update<2, Adam>(operands, attrs));
})

}  // namespace plimsoll
