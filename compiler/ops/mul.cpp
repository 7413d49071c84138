// Mul with broadcasting: y = a · b.   BinaryMul {a, b, y}   ProductSum {dy, other, dx}
// Each gradient is dy times the other operand. The same kernel sums it if the operand was broadcast.
#include "compiler/ops/binary.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {
namespace mul {

std::optional<double> number(const NodeView& node) {
  return number_at(node, 0) ? number_at(node, 0) : number_at(node, 1);
}

void forward(TaskBuilder& build) {
  if (const auto scale = number(build.node())) return forward_scaled(build, *scale, 0);
  forward_binary(build, "BinaryMul");
}

void backward(TaskBuilder& build) {
  if (const auto scale = number(build.node())) return give_scaled_gradient(build, *scale);
  if (build.wants_gradient(0)) give_product_gradient(build, 0, build.read_input(1));
  if (build.wants_gradient(1)) give_product_gradient(build, 1, build.read_input(0));
}

}  // namespace mul

const Op op_Mul{.name = "Mul",
                .first_opset = 7,
                .inputs = {Slot::number},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_binary(call.inputs, {.ints = symbolic::multiply,
                                                       .reals = [](double a, double b) { return a * b; }});
                },
                .evaluate_spaced = [](const KnownCall& call, const Progression& first) {
                  const auto other = progression_of(call.known(1));
                  return other ? spaced::product(first, *other) : std::nullopt;
                },
                .infer = infer_binary,
                .forward = mul::forward,
                .backward = mul::backward,
                .any_type = true,
                .layout_of = binary_layout,
                .adds_up = [](const NodeView&, const std::vector<bool>& sums) { return sums[0] != sums[1]; },
                .samples = [] { return binary_samples(-1, 1); }};

}  // namespace plimsoll
