// Swish: y = x · σ(alpha · x). SiLU if alpha is 1.   SwishForward {x, y}   SwishBackward {x, dy, dx}
// Not monotonic: the slope cannot be computed from the output, so the backward reads the input.
#include "compiler/ops/activation.h"
#include "compiler/ops/fused_activation.h"

namespace plimsoll {
namespace swish {

Attributes attributes(const NodeView& node) { return to_attributes(SlopeAttrs{.alpha = node.real("alpha", 1)}); }

constexpr ActivationFlops kFlops = flops_of(FusedActivation::swish);

void forward(TaskBuilder& build) { forward_activation(build, attributes(build.node()), kFlops.forward); }
void backward(TaskBuilder& build) {
  backward_activation(build, Remembers::input, attributes(build.node()), kFlops.backward);
}

std::vector<Sample> samples() {
  std::vector<Sample> all = activation_samples(-3, 3);
  all.push_back({.name = "steeper",
                 .inputs = {{.dims = {kBatch, {37}}, .low = -3, .high = 3}},
                 .attributes = {{"alpha", 1.702}}});
  for (Sample& one : all) one.opset = 24;
  return all;
}

}  // namespace swish

const Op op_Swish{.name = "Swish",
                  .first_opset = 24,
                  .attributes = {attribute::real("alpha").since(24)},
                  .infer = infer_same,
                  .forward = swish::forward,
                  .backward = swish::backward,
                  .layout = LayoutRule::elementwise,
                  .samples = swish::samples};

}  // namespace plimsoll
