// Pow: y = x^e.
//   e a number known at compile time   PowForward {x, y}   PowBackward {x, dy, dx}: dx = dy · e · x^(e-1)
//                                      and 0 if e is 0
//   e a tensor, also a learned number  BinaryPow {x, e, y}   PowBaseSlope, PowExponentSlope:
//   runtime/host/ops/two_operands.cpp
#include <cmath>
#include <utility>

#include "compiler/ops/activation.h"
#include "compiler/ops/binary.h"
#include "compiler/ops/evaluate_elements.h"
#include "runtime/attrs/pow.h"

namespace plimsoll {
namespace pow {

Attributes attributes(const NodeView& node) { return to_attributes(PowAttrs{.exponent = *number_at(node, 1)}); }

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(1)) return node.invalid("requires an exponent");
  return number_at(node, 1) ? infer_same(node) : infer_binary(node);
}

LayoutRule layout_of(const NodeView& node) {
  return number_at(node, 1) ? LayoutRule::elementwise : binary_layout(node);
}

void forward(TaskBuilder& build) {
  if (!number_at(build.node(), 1)) return forward_binary(build, "BinaryPow");
  forward_activation(build, attributes(build.node()), 10);
}

void backward(TaskBuilder& build) {
  if (number_at(build.node(), 1)) return backward_activation(build, Remembers::input, attributes(build.node()), 10);
  give_gradient_by_both(build, 0, "PowBaseSlope");
  give_gradient_by_both(build, 1, "PowExponentSlope");
}

// Real bases with integer exponents: ALiBi's slopes are powers 1, 2, 3, … of one number.
Known evaluate(const KnownCall& call) {
  const KnownValue *base = call.known(0), *exponent = call.known(1);
  if (!base || !exponent) return std::nullopt;
  KnownValue real = *exponent;
  if (base->real() && !exponent->real()) {
    if (exponent->depends_on_batch() || !exponent->steps.empty()) return std::nullopt;
    real.element = base->element;
    for (const Dim item : std::exchange(real.ints, {})) real.reals.push_back(static_cast<double>(item.value));
  }
  return evaluate_binary({call.inputs[0], {.known = &real}},
                         {.reals = [](double a, double b) { return std::pow(a, b); }});
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const auto add = [&](const char* name, double exponent, double low) {
    for (Sample sample : activation_samples(low, 2)) {
      sample.name = std::string(name) + "_" + sample.name;
      sample.inputs.push_back({.kind = ValueKind::constant, .constant = {exponent}});
      all.push_back(std::move(sample));
    }
  };
  add("square", 2, -2);
  add("cube", 3, -2);
  add("one", 0, -2);
  add("root", 0.5, 0.5);
  add("any", -1.3, 0.5);
  for (Sample sample : binary_samples(0.5, 2)) {
    if (sample.name.starts_with("number")) continue;
    sample.name = "tensors_" + sample.name;
    all.push_back(std::move(sample));
  }
  return all;
}

}  // namespace pow

const Op op_Pow{.name = "Pow",
                .first_opset = 7,
                .inputs = {Slot::data, Slot::exponent},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .evaluate = pow::evaluate,
                .infer = pow::infer,
                .forward = pow::forward,
                .backward = pow::backward,
                .layout_of = pow::layout_of,
                .precision = PrecisionRule::single,
                .samples = pow::samples};

}  // namespace plimsoll
