// Add with broadcasting: y = a + b.   BinaryAdd {a, b, y}
// The gradient of both operands is dy, summed over broadcast dimensions; no activation is read. With `relu` the kernel
// applies a Relu to its result.
#include "compiler/ops/binary.h"
#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/fused_activation.h"
#include "runtime/attrs/add.h"

namespace plimsoll {
namespace add {

std::optional<double> number(const NodeView& node) {
  return number_at(node, 0) ? number_at(node, 0) : number_at(node, 1);
}

void forward(TaskBuilder& build) {
  if (const auto shift = number(build.node())) return forward_scaled(build, 1, *shift);
  forward_binary(build, "BinaryAdd", to_attributes(AddAttrs{.relu = has_relu(build.node())}));
}

void backward(TaskBuilder& build) {
  if (number(build.node())) return give_scaled_gradient(build, 1);
  const Operand dy = gradient_before_relu(build);
  give_summed_gradient(build, 0, dy);
  give_summed_gradient(build, 1, dy);
}

std::vector<Sample> samples() {
  std::vector<Sample> all = binary_samples(-1, 1);
  all.push_back({.name = "relu",
                 .inputs = {{.dims = {kBatch, {32}, {3}, {4}}}, {.dims = {kBatch, {32}, {3}, {4}}}},
                 .marks = {.activation = FusedActivation::relu}});
  return all;
}

}  // namespace add

const Op op_Add{.name = "Add",
                .first_opset = 7,
                .inputs = {Slot::number},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .sample_numbers = SampleNumbers::kept,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_binary(call.inputs, {.ints = [](Dim a, Dim b) { return symbolic::add(a, b, 1); },
                                                       .reals = [](double a, double b) { return a + b; }});
                },
                .evaluate_spaced = [](const KnownCall& call, const Progression& first) {
                  const auto other = progression_of(call.known(1));
                  return other ? spaced::sum(first, *other, 1) : std::nullopt;
                },
                .infer = infer_binary,
                .forward = add::forward,
                .backward = add::backward,
                .any_type = true,
                .layout_of = binary_layout,
                .absorbs = [](const NodeView& node, FusedActivation activation) {
                  return only_relu(node, activation) && !add::number(node);
                },
                .adds_up = [](const NodeView& node, const std::vector<bool>& sums) {
                  return !has_relu(node) && adds_up_all(node, sums);
                },
                .samples = add::samples};

}  // namespace plimsoll
