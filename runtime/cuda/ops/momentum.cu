// MomentumUpdate {w, g, v, factor?}: torch.optim.SGD with momentum and no dampening. v starts at zero, which makes the first
// step PyTorch's (v = g). A gradient that is `update` is cleared.
#include "runtime/cuda/update.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Momentum {
  float momentum, decay;
  bool nesterov;
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
    return {static_cast<float>(now.learning_rate), momentum, decay, nesterov};
  }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(MomentumUpdate, {
  return cuda::update<1>(operands, Momentum{static_cast<float>(attrs.momentum), static_cast<float>(attrs.weight_decay),
                                            attrs.nesterov});
})

}  // namespace plimsoll
