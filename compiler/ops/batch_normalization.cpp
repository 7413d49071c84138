// BatchNormalization over axis 1 of [N, C, …]. Training uses the batch statistics, evaluation the running statistics.
// The model's training_mode is not read here: if the model or the user freezes the statistics of a normalization, its
// node has the mark frozen_statistics (compiler/network/frozen_statistics.h; never read from a file). Training then
// also normalizes by the running statistics: y is an affine function of x, sample by sample, and the backward reads the
// running statistics instead of the saved ones.
//   BatchNormForward  {x, scale, bias, running_mean, running_var, y, mean, var}
//   BatchNormBackward {x?, dy, scale, mean, var, y, dx, dscale, dbias, bias?}
// mean and var are the batch statistics, saved for backward (var is biased: the sum of squares over its count) and
// cached: when the forward is recomputed, it reads them and needs one pass over x.
//
// With a fused activation (the mark `activation`, never read from a file): y = activation(normalized). Of a Relu the
// backward reads y, whose zeros are the mask. Of a Swish or HardSwish it reads the bias in slot 9, and computes the
// normalized values, of which their slopes are functions, again from x.
//
// With frozen statistics, dx does not depend on x, and dbias neither: only dscale and the slope of a Swish do. So where
// the scale is frozen too, x need not be kept for the backward.
//
// With an addend (input 5, never read from a file): y = normalized + addend, followed by the Relu. The forward reads
// the addend in slot 8. The addend's gradient is dy, or dy masked by the Relu; a separate task computes the masked
// gradient first. Computing it inside the backward would save one pass of eight, but would need x and y live together
// with dy; a separate task needs only one of them at a time.
#include <algorithm>

#include "compiler/ops/fused_activation.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/batch_norm.h"

namespace plimsoll {
namespace batch_normalization {

constexpr size_t kAddend = 5;

bool is_frozen(const NodeView& node) { return node.node().marks.frozen_statistics; }

BatchNormAttrs attrs_of(const NodeView& node) {
  return {.epsilon = node.real("epsilon", 1e-5),
          .momentum = node.real("momentum", 0.9),
          .frozen = is_frozen(node),
          .relu = has_relu(node),
          .swish = node.node().marks.activation == FusedActivation::swish,
          .hard_swish = node.node().marks.activation == FusedActivation::hard_swish};
}

// The batch is never split into rounds: the number of samples is a constant.
bool has_whole_batch(const Network& network) {
  return std::any_of(network.nodes.begin(), network.nodes.end(),
                     [](const Node& node) { return node.op == "WholeBatch"; });
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 5; ++i)
    if (!node.has_input(i)) return node.invalid("requires x, scale, bias, running mean and running variance");
  const TensorType& x = node.input_type(0);
  // A value computed from weights alone is recomputed in every round, which would update its running statistics each
  // time.
  if (x.rank() < 2 || x.dims[1].batch || (!x.dims[0].batch && !has_whole_batch(node.network())))
    return node.unsupported("input is " + to_string(x.dims) + ", expected [N, C, …]");
  for (size_t i = 1; i < 5; ++i)
    if (node.input_type(i).dims != Dims{x.dims[1]})
      return node.invalid("input " + std::to_string(i) + " is " + to_string(node.input_type(i).dims) +
                          ", expected " + std::to_string(x.dims[1].value) + " channels");
  if (node.has_input(kAddend) && node.input_type(kAddend) != x)
    return node.invalid("adds " + to_string(node.input_type(kAddend)) + " to " + to_string(x));
  // The running statistics are updated in place, so the outputs that ONNX has for them do not exist here.
  return std::vector{x};
}

// Whether any input other than the addend needs a gradient.
bool trains_before_addition(const TaskBuilder& build) {
  return build.wants_gradient(0) || build.wants_gradient(1) || build.wants_gradient(2);
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const bool frozen = is_frozen(node);
  const ActivationFlops activation = flops_of(node.node().marks.activation);
  const auto stash = [&](const char* what) {
    return trains_before_addition(build) && !frozen
               ? build.write_stash(what, {DataType::f32, {node.input_type(0).dims[1]}})
               : Operand{};
  };
  TaskSpec task{.kernel = "BatchNormForward",
                .attributes = to_attributes(attrs_of(node)),
                .operands = {build.read_input(0), build.read_input(1), build.read_input(2),
                             frozen ? build.read_input(3) : build.update_input(3),
                             frozen ? build.read_input(4) : build.update_input(4), build.write_output(0), stash("mean"),
                             stash("var")},
                .in_place = {{0, 5}},
                .flops = flops_per_element(node.input_type(0), 7 + activation.forward),
                .twice = {0},
                .mixes_samples = !frozen};
  if (frozen) task.twice.clear();
  else task.remembers = {6, 7};
  if (node.has_input(kAddend)) {
    task.operands.push_back(build.read_input(kAddend));
    task.in_place.push_back({8, 5});
    task.flops = flops_per_element(node.input_type(0), 8);
  }
  build.task(std::move(task));
}

void backward(TaskBuilder& build) {
  if (!trains_before_addition(build)) return build.give_gradient(kAddend, gradient_before_relu(build));
  BatchNormAttrs attrs = attrs_of(build.node());
  Operand dy = build.read_gradient(0);
  if (build.wants_gradient(kAddend)) {
    dy = gradient_before_relu(build);
    attrs.relu = false;
  }
  const ActivationFlops activation = flops_of(build.node().node().marks.activation);
  const bool reads_x = !attrs.frozen || build.wants_gradient(1) || attrs.reads_bias();
  TaskSpec task{.kernel = "BatchNormBackward",
                .kind = TaskKind::backward,
                .attributes = to_attributes(attrs),
                .operands = {reads_x ? build.read_input(0) : Operand{}, dy, build.read_input(1),
                             attrs.frozen ? build.read_input(3) : build.read_stash("mean"),
                             attrs.frozen ? build.read_input(4) : build.read_stash("var"),
                             attrs.relu ? build.read_output(0) : Operand{}, build.write_gradient(0),
                             build.write_gradient(1), build.write_gradient(2)},
                .in_place = {{1, 6}, {0, 6}},
                .flops = flops_per_element(build.node().input_type(0), 11 + 2 * activation.backward),  // in both passes
                .twice = {0, 1, 5},
                .mixes_samples = !attrs.frozen};
  if (attrs.reads_bias()) {
    task.operands.push_back(build.read_input(2));
    task.in_place = {{1, 6}};  // kernels may write to dx before they have read x for the last time
  }
  build.task(std::move(task));
  if (build.wants_gradient(kAddend)) build.give_gradient(kAddend, dy);
}

std::vector<Sample> samples() {
  using enum FusedActivation;
  struct With {
    bool addend = false, frozen = false, frozen_scale = false, frozen_bias = false;
  };
  const auto sample = [](std::string name, Dims x, FusedActivation activation, With with = {}) {
    const Dims channels = {x[1]};
    Sample made{.name = std::move(name),
                .inputs = {{.dims = x, .low = -1, .high = 2},
                           {.dims = channels,
                            .kind = ValueKind::parameter,
                            .low = 0.5,
                            .high = 1.5,
                            .frozen = with.frozen_scale},
                           {.dims = channels, .kind = ValueKind::parameter, .frozen = with.frozen_bias},
                           {.dims = channels, .kind = ValueKind::statistic},
                           {.dims = channels, .kind = ValueKind::statistic, .low = 0.5, .high = 2}},
                .marks = {.activation = activation, .frozen_statistics = with.frozen}};
    if (with.addend) made.inputs.push_back({.dims = x});
    return made;
  };
  Sample many_kinks = sample("addend_large", {kBatch, {2}, {22}, {22}}, relu, {.addend = true});
  many_kinks.check_gradient = false;
  return {sample("image", {kBatch, {3}, {5}, {5}}, none),
          sample("relu", {kBatch, {3}, {4}, {3}}, relu),
          sample("flat", {kBatch, {5}}, none),
          sample("blocked", {kBatch, {16}, {3}, {3}}, none),
          sample("blocked_relu", {kBatch, {32}, {2}, {3}}, relu),
          sample("large", {kBatch, {2}, {21}, {22}}, none),
          sample("addend", {kBatch, {3}, {5}, {5}}, none, {.addend = true}),
          sample("addend_relu", {kBatch, {3}, {4}, {3}}, relu, {.addend = true}),
          sample("addend_blocked_relu", {kBatch, {16}, {2}, {3}}, relu, {.addend = true}),
          sample("frozen", {kBatch, {3}, {5}, {5}}, none, {.frozen = true}),
          sample("frozen_blocked_relu", {kBatch, {16}, {3}, {3}}, relu, {.frozen = true}),
          sample("frozen_addend_relu", {kBatch, {3}, {4}, {3}}, relu, {.addend = true, .frozen = true}),
          sample("frozen_whole", {kBatch, {3}, {5}, {5}}, none,
                 {.frozen = true, .frozen_scale = true, .frozen_bias = true}),
          sample("frozen_whole_relu", {kBatch, {16}, {3}, {3}}, relu,
                 {.frozen = true, .frozen_scale = true, .frozen_bias = true}),
          sample("frozen_scale_addend_relu", {kBatch, {3}, {4}, {3}}, relu,
                 {.addend = true, .frozen = true, .frozen_scale = true}),
          sample("frozen_scale_large", {kBatch, {2}, {21}, {22}}, none, {.frozen = true, .frozen_scale = true}),
          sample("frozen_whole_swish", {kBatch, {3}, {4}, {3}}, swish,
                 {.frozen = true, .frozen_scale = true, .frozen_bias = true}),
          sample("swish", {kBatch, {3}, {4}, {3}}, swish),
          sample("blocked_swish", {kBatch, {32}, {2}, {3}}, swish),
          sample("large_swish", {kBatch, {1}, {61}, {69}}, swish),
          sample("frozen_swish", {kBatch, {5}}, swish, {.frozen = true}),
          sample("hard_swish", {kBatch, {3}, {5}, {5}}, hard_swish),
          sample("blocked_hard_swish", {kBatch, {16}, {3}, {3}}, hard_swish),
          many_kinks};
}

}  // namespace batch_normalization

const Op op_BatchNormalization{.name = "BatchNormalization",
                               .first_opset = 7,
                               .inputs = {Slot::data, Slot::weight, Slot::weight, Slot::statistic, Slot::statistic},
                               .required_inputs = 5,
                               .most_outputs = 5,
                               .attributes = {attribute::real("epsilon"), attribute::real("momentum"),
                                              attribute::integer("spatial").until(8),
                                              attribute::integer("training_mode").since(14)},
                               .infer = batch_normalization::infer,
                               .forward = batch_normalization::forward,
                               .backward = batch_normalization::backward,
                               .layout = LayoutRule::channels,
                               .addend = batch_normalization::kAddend,
                               .marks = {.frozen_statistics = true},
                               .absorbs = [](const NodeView& node, FusedActivation activation) {
                                 return activation == FusedActivation::relu ||
                                        !node.has_input(batch_normalization::kAddend);
                               },
                               .samples = batch_normalization::samples};

}  // namespace plimsoll
