// Sub with broadcasting: y = a - b.   BinarySub {a, b, y}
// The gradients are dy and -dy, summed over broadcast dimensions; no activation is read.
#include "compiler/ops/binary.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {
namespace sub {

void forward(TaskBuilder& build) {
  if (const auto a = number_at(build.node(), 0)) return forward_scaled(build, -1, *a);
  if (const auto b = number_at(build.node(), 1)) return forward_scaled(build, 1, -*b);
  forward_binary(build, "BinarySub");
}

void backward(TaskBuilder& build) {
  if (number_at(build.node(), 0)) return give_scaled_gradient(build, -1);
  if (number_at(build.node(), 1)) return give_scaled_gradient(build, 1);
  give_summed_gradient(build, 0, build.read_gradient(0));
  give_summed_gradient(build, 1, build.read_gradient(0), -1);
}

}  // namespace sub

const Op op_Sub{.name = "Sub",
                .first_opset = 7,
                .inputs = {Slot::number},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_binary(call.inputs, {.ints = [](Dim a, Dim b) { return symbolic::add(a, b, -1); },
                                                       .reals = [](double a, double b) { return a - b; }});
                },
                .evaluate_spaced = [](const KnownCall& call, const Progression& first) {
                  const auto other = progression_of(call.known(1));
                  return other ? spaced::sum(first, *other, -1) : std::nullopt;
                },
                .infer = infer_binary,
                .forward = sub::forward,
                .backward = sub::backward,
                .any_type = true,
                .layout_of = binary_layout,
                .adds_up = adds_up_all,
                .samples = [] { return binary_samples(-1, 1); }};

}  // namespace plimsoll
