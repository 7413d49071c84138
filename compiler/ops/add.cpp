// Add with broadcasting: y = a + b.   BinaryAdd {a, b, y}
// The gradient of both is dy itself, summed over what was stretched; nothing is read.
#include "compiler/ops/binary.h"

namespace plimsoll {
namespace {

std::optional<double> number(const NodeView& node) { return number_at(node, 0) ? number_at(node, 0) : number_at(node, 1); }

void forward(TaskBuilder& build) {
  if (const auto shift = number(build.node())) return forward_scaled(build, 1, *shift);
  forward_binary(build, "BinaryAdd");
}

void backward(TaskBuilder& build) {
  if (number(build.node())) return give_scaled_gradient(build, 1);
  give_summed_gradient(build, 0, build.read_gradient(0));
  give_summed_gradient(build, 1, build.read_gradient(0));
}

}  // namespace

const Op op_Add{.name = "Add",
                .first_opset = 7,
                .infer = infer_binary,
                .forward = forward,
                .backward = backward,
                .layout_of = binary_layout,
                .samples = [] { return binary_samples(-1, 1); }};

}  // namespace plimsoll
