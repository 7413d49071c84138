// MomentumUpdate {w, g, v, low?, factor?}: torch.optim.SGD with momentum and without dampening. v is initially zero, so
// the first step equals PyTorch's (v = g). An `update` gradient is cleared.
#include "runtime/cuda/ops/update.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Momentum {
  double scale;
  float momentum, decay;
  bool nesterov;
  Momentum(const MomentumAttrs& attrs, double rate_scale)
      : scale(rate_scale), momentum(static_cast<float>(attrs.momentum)), decay(static_cast<float>(attrs.weight_decay)),
        nesterov(attrs.nesterov) {}
  friend bool operator==(const Momentum&, const Momentum&) = default;

  struct Step {
    float rate, momentum, decay;
    bool nesterov;
    __device__ void operator()(float& w, float g, float& v, float&) const {
      const float step = g + decay * w;
      v = momentum * v + step;
      w -= rate * (nesterov ? step + momentum * v : v);
    }
  };
  __device__ Step at(const cuda::Changing& now) const {
    return {static_cast<float>(now.learning_rate * scale), momentum, decay, nesterov};
  }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(MomentumUpdate, {
  return (cuda::update<1, Momentum>(operands, attrs));
})

}  // namespace plimsoll
