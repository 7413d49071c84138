// Neg: y = -x, and dx = -dy.   ScaleShift {x, y}
#include "compiler/ops/activation.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/evaluate_elements.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {
namespace neg {

void forward(TaskBuilder& build) {
  build.task({.kernel = "ScaleShift",
              .attributes = to_attributes(ScaleAttrs{.scale = -1}),
              .operands = {build.read_input(0), build.write_output(0)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

void backward(TaskBuilder& build) { give_summed_gradient(build, 0, build.read_gradient(0), -1); }

}  // namespace neg

const Op op_Neg{.name = "Neg",
                .first_opset = 6,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs, {.ints = [](Dim a) { return symbolic::add({0}, a, -1); },
                                                      .reals = [](double a) { return -a; }});
                },
                .infer = infer_same,
                .forward = neg::forward,
                .backward = neg::backward,
                .layout = LayoutRule::elementwise,
                .adds_up = adds_up_first,
                .samples = [] { return activation_samples(-1, 1); }};

}  // namespace plimsoll
