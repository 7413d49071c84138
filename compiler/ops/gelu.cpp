// Gelu: y = x · Φ(x), by the error function or the tanh approximation.   GeluForward {x, y}   GeluBackward {x, dy, dx}
// Not monotonic: the slope cannot be computed from the output, so the backward reads the input.
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace gelu {

Attributes attributes(const NodeView& node) {
  return to_attributes(GeluAttrs{.by_tanh = node.text("approximate", "none") == "tanh"});
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  const std::string approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.invalid("approximate is '" + approximate + "' when it should be 'none' or 'tanh'");
  return infer_same(node);
}

void forward(TaskBuilder& build) { forward_activation(build, attributes(build.node()), 20); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::input, attributes(build.node()), 30); }

std::vector<Sample> samples() {
  std::vector<Sample> all = activation_samples(-3, 3);
  all.push_back({.name = "tanh",
                 .inputs = {{.dims = {kBatch, {37}}, .low = -3, .high = 3}},
                 .attributes = {{"approximate", std::string("tanh")}}});
  return all;
}

constexpr std::string_view kFormulas[] = {"none", "tanh"};

}  // namespace gelu

const Op op_Gelu{.name = "Gelu",
                 .first_opset = 20,
                 .attributes = {attribute::text("approximate", gelu::kFormulas).since(20)},
                 .infer = gelu::infer,
                 .forward = gelu::forward,
                 .backward = gelu::backward,
                 .layout = LayoutRule::elementwise,
                 .samples = gelu::samples};

}  // namespace plimsoll
