// Dropout.   Dropout {x, y}: y = x / (1 - ratio) where the mask is set, else 0; in evaluation y = x.
// No mask is stored. The mask is a function of seed, iteration, round, the node's key and the element's position. So
// the backward applies the same kernel to the gradient, and a recomputed forward uses the same mask. Dropout is always
// active in training, whatever the input training_mode: a Dropout that training_mode disables has become an Identity
// before (compiler/network/evaluated_dropout.h).
#include "compiler/ops/dropout.h"

#include "compiler/ops/op.h"
#include "compiler/ops/random_key.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/dropout.h"

namespace plimsoll {

std::optional<double> dropped_ratio(const NodeView& dropout) {
  if (dropout.opset() < 12) return dropout.real("ratio", 0.5);
  return dropout.has_input(1) ? dropout.constant_real(1) : 0.5;
}

namespace dropout {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const std::optional<double> ratio = dropped_ratio(node);
  if (!ratio) return node.unsupported("the ratio is not a constant");
  if (!(*ratio >= 0 && *ratio <= 1)) return node.invalid("the ratio is " + std::to_string(*ratio));
  return std::vector{node.input_type(0)};
}

void task(TaskBuilder& build, TaskKind kind, const Operand& from, const Operand& to) {
  const NodeView& node = build.node();
  build.task({.kernel = "Dropout",
              .kind = kind,
              .attributes = to_attributes(DropoutAttrs{.ratio = *dropped_ratio(node), .key = random_key(node)}),
              .operands = {from, to},
              .in_place = {{0, 1}},
              .flops = flops_per_element(node.input_type(0), 1)});
}

void forward(TaskBuilder& build) {
  if (*dropped_ratio(build.node()) == 0) return build.alias_output(0, 0);
  task(build, TaskKind::forward, build.read_input(0), build.write_output(0));
}

void backward(TaskBuilder& build) {
  if (*dropped_ratio(build.node()) == 0) return backward_alias(build);
  task(build, TaskKind::backward_data, build.read_gradient(0), build.write_gradient(0));
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims x, double ratio) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(x)}, {.kind = ValueKind::constant, .constant = {ratio}}}};
  };
  return {sample("flat", {kBatch, {9}}, 0.5), sample("image", {kBatch, {3}, {4}, {5}}, 0.2),
          sample("blocked", {kBatch, {16}, {2}, {3}}, 0.7), sample("nothing", {kBatch, {4}}, 0),
          Sample{.name = "attribute", .inputs = {{.dims = {kBatch, {6}}}}, .attributes = {{"ratio", 0.3}}, .opset = 7}};
}

}  // namespace dropout

const Op op_Dropout{.name = "Dropout",
                    .first_opset = 7,
                    .inputs = {Slot::data, Slot::constant, Slot::constant},
                    .most_outputs = 2,
                    .attributes = {attribute::real("ratio").until(11), attribute::integer("seed").since(12)},
                    .infer = dropout::infer,
                    .forward = dropout::forward,
                    .backward = dropout::backward,
                    .layout = LayoutRule::channels,
                    .samples = dropout::samples};

}  // namespace plimsoll
