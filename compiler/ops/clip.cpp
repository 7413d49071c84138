// Clip: y = x within [min, max], both optional: attributes before opset 11, inputs since.
//   ClipForward {x, y}   ClipBackward {y, dy, dx}
// If min is above max, y is max everywhere (ONNX: Min(max, Max(x, min))). The gradient is zero at the bounds, so the
// backward can read the output, as Relu's does (Relu6 is a Clip). An output in bf16 or f16 is only equal to a bound
// that is rounded likewise: 0.7 is stored as 0.699, which is below 0.7.
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"
#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"

namespace plimsoll {
namespace clip {

Result<double> bound(const NodeView& node, size_t i, std::string_view attribute, double missing) {
  if (!node.has_input(i)) return node.real(attribute, missing);
  const auto number = node.constant_real(i);
  if (!number) return node.unsupported(std::string(attribute) + " is not a number known at compile time");
  // Infinity means unbounded; attributes are finite.
  return std::isinf(*number) ? std::copysign(ClipAttrs{}.max, *number) : *number;
}

Result<ClipAttrs> attrs_of(const NodeView& node) {
  ClipAttrs attrs;
  PLIMSOLL_ASSIGN(attrs.min, bound(node, 1, "min", attrs.min));
  PLIMSOLL_ASSIGN(attrs.max, bound(node, 2, "max", attrs.max));
  return attrs;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_TRY(attrs_of(node));
  return infer_same(node);
}

// As the type stores it. A number that rounds to infinity remains what it is: no finite output is equal to it.
double stored(double bound, DataType type) {
  if (!is_narrow(type)) return bound;
  const auto value = static_cast<float>(bound);
  const float rounded = type == DataType::bf16 ? static_cast<float>(Bf16(value)) : static_cast<float>(F16(value));
  return std::isinf(rounded) ? bound : rounded;
}

Attributes attributes(const TaskBuilder& build) {
  const ClipAttrs exact = attrs_of(build.node()).value();
  const DataType type = build.type_of_results();
  return to_attributes(ClipAttrs{.min = stored(exact.min, type), .max = stored(exact.max, type)});
}

void forward(TaskBuilder& build) { forward_activation(build, attributes(build), 2); }
void backward(TaskBuilder& build) { backward_activation(build, Remembers::output, attributes(build), 2); }

// For opset 11 and later, where the bounds are inputs.
Known evaluate(const KnownCall& call) {
  if (!call.known(0) || !call.node.attributes.empty()) return std::nullopt;
  Known clipped = *call.known(0);
  for (size_t i = 1; i < call.inputs.size() && clipped; ++i) {
    if (!call.given(i)) continue;
    const std::vector<KnownInput> two = {{.known = &*clipped}, call.inputs[i]};
    clipped = i == 1 ? evaluate_binary(
                           two, {.ints = symbolic::largest, .reals = [](double a, double b) { return a < b ? b : a; }})
                     : evaluate_binary(two, {.ints = symbolic::smallest,
                                             .reals = [](double a, double b) { return a > b ? b : a; }});
  }
  return clipped;
}

std::vector<Sample> samples() {
  std::vector<Sample> all = activation_samples(-1, 1, {{"min", -0.5}, {"max", 0.25}});
  for (Sample& sample : all) sample.opset = 6;
  const auto number = [](double value) { return SampleInput{.kind = ValueKind::constant, .constant = {value}}; };
  const SampleInput image{.dims = {kBatch, {32}, {3}, {2}}, .low = -3, .high = 9};
  all.push_back({.name = "relu6", .inputs = {image, number(0), number(6)}});
  all.push_back({.name = "max_only", .inputs = {image, {.kind = ValueKind::constant}, number(3)}});
  return all;
}

}  // namespace clip

const Op op_Clip{.name = "Clip",
                 .first_opset = 6,
                 .inputs = {Slot::data, Slot::bound, Slot::bound},
                 .attributes = {attribute::real("max").until(10), attribute::real("min").until(10)},
                 .evaluate = clip::evaluate,
                 .infer = clip::infer,
                 .forward = clip::forward,
                 .backward = clip::backward,
                 .layout = LayoutRule::elementwise,
                 .samples = clip::samples};

}  // namespace plimsoll
