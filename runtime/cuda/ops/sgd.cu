// SgdUpdate {w, g, low?, factor?}: w -= lr * (g + decay * w), as torch.optim.SGD without momentum. An `update` gradient
// is cleared.
#include "runtime/cuda/ops/update.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Sgd {
  double scale;
  float decay;
  Sgd(const SgdAttrs& attrs, double rate_scale) : scale(rate_scale), decay(static_cast<float>(attrs.weight_decay)) {}
  friend bool operator==(const Sgd&, const Sgd&) = default;

  struct Step {
    float rate, decay;
    __device__ void operator()(float& w, float g, float&, float&) const { w -= rate * (g + decay * w); }
  };
  __device__ Step at(const cuda::Changing& now) const { return {static_cast<float>(now.learning_rate * scale), decay}; }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(SgdUpdate, return (cuda::update<0, Sgd>(operands, attrs));)

}  // namespace plimsoll
