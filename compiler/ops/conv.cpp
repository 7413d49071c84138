// Conv with two or three spatial dimensions, groups, dilation and asymmetric padding.
//   ConvForward {x, w, b, y}   ConvBackwardData {w, dy, dx, addend?}   ConvBackwardWeights {x, dy, dw, db}
// w is [C_out, C_in / group, kH, kW], or [C_out, C_in / group, kD, kH, kW]; b is optional in every slot. With `relu`
// the forward kernel applies a Relu to its result.
#include "compiler/ops/fused_activation.h"
#include "compiler/ops/op.h"
#include "compiler/ops/window.h"
#include "runtime/attrs/conv.h"

namespace plimsoll {
namespace conv {

ConvAttrs attrs_of(const NodeView& node) {
  const Window window = window_of(node, spatial_of(node.input_type(1))).value();
  return {.strides = window.strides,
          .dilations = window.dilations,
          .pads = window.pads,
          .group = node.integer("group", 1)};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires an input and weights");
  const TensorType &x = node.input_type(0), &w = node.input_type(1);
  if (!has_window_rank(x))
    return node.unsupported("only convolutions over one, two or three dimensions have kernels, input is " +
                            to_string(x.dims));
  if (w.rank() != x.rank())
    return node.invalid("weights " + to_string(w.dims) + " do not fit input " + to_string(x.dims));
  const int64_t group = node.integer("group", 1), channels = x.dims[1].value;
  if (group < 1 || channels % group != 0 || w.dims[1].value * group != channels || w.dims[0].value % group != 0)
    return node.invalid("weights " + to_string(w.dims) + " do not fit input " + to_string(x.dims) + " in " +
                        std::to_string(group) + " groups");
  if (node.has_input(2) && node.input_type(2).dims != Dims{w.dims[0]})
    return node.invalid("bias is " + to_string(node.input_type(2).dims) + "; expected " +
                        to_string(Dims{w.dims[0]}));
  PLIMSOLL_ASSIGN(const Window window, window_of(node, spatial_of(w)));
  PLIMSOLL_ASSIGN(const auto spatial, window.output(node, x));
  return std::vector{TensorType{x.type, image_dims(x.dims[0], w.dims[0], spatial)}};
}

// Two per multiply-add; the same for each of the three kernels.
Affine flops(const NodeView& node) {
  const TensorType& w = node.input_type(1);
  return flops_per_element(node.output_type(0), 2 * w.dims[1].value * elements_of(spatial_of(w)));
}

void forward(TaskBuilder& build) {
  ConvAttrs attrs = attrs_of(build.node());
  attrs.relu = has_relu(build.node());
  build.task({.kernel = "ConvForward",
              .attributes = to_attributes(attrs),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.write_output(0)},
              .flops = flops(build.node())});
}

void backward(TaskBuilder& build) {
  const Attributes attributes = to_attributes(attrs_of(build.node()));
  const Operand dy = gradient_before_relu(build);
  if (build.wants_gradient(1) || build.wants_gradient(2)) {
    // Those of groups are small, and on the host an own kernel computes them in f32.
    const bool grouped = build.node().integer("group", 1) != 1;
    const Operand dw = grouped ? build.write_gradient(1) : build.write_gradient_of_product(1);
    build.task({.kernel = "ConvBackwardWeights",
                .kind = TaskKind::backward_weights,
                .attributes = attributes,
                .operands = {build.read_input(0), dy, dw, build.write_gradient(2)},
                .flops = flops(build.node())});
  }
  if (build.wants_gradient(0)) {
    build.task({.kernel = "ConvBackwardData",
                .kind = TaskKind::backward_data,
                .attributes = attributes,
                .operands = {build.read_input(1), dy, build.write_gradient(0)},
                .flops = flops(build.node()),
                .adds_to = 2});
  }
}

// The layout that oneDNN's direct convolutions read fastest. Blocks are never padded: a channel count that is not a
// multiple of the block stays plain. If activations are channels last, so are the weights, because cuDNN's engines take
// all three tensors in one order.
Layout weight_layout(const NodeView& node, size_t i, Layout images) {
  if (i != 1 || node.input_type(1).rank() != 4) return Layout::plain;  // volumes and their weights are plain
  if (images == Layout::nhwc) return images;
  const int64_t block = block_of(images);
  const TensorType& w = node.input_type(1);
  const int64_t out = w.dims[0].value, in = w.dims[1].value, group = node.integer("group", 1);
  if (out % block != 0) return Layout::plain;
  if (group == out && in == 1) return block == 16 ? Layout::Goihw16g : Layout::Goihw8g;
  if (group != 1) return Layout::plain;
  if (in % block == 0) return block == 16 ? Layout::OIhw16i16o : Layout::OIhw8i8o;
  return in <= 4 ? (block == 16 ? Layout::Ohwi16o : Layout::Ohwi8o) : Layout::plain;
}

std::vector<Sample> samples() {
  const auto conv = [](std::string name, Dims x, Dims w, std::map<std::string, NodeAttribute> attributes, bool bias,
                       bool relu = false) {
    Sample sample{.name = std::move(name),
                  .inputs = {{.dims = x}, {.dims = w, .kind = ValueKind::parameter}},
                  .attributes = std::move(attributes),
                  .marks = {.activation = relu ? FusedActivation::relu : FusedActivation::none}};
    if (bias) sample.inputs.push_back({.dims = {w[0]}, .kind = ValueKind::parameter});
    return sample;
  };
  using Ints = std::vector<int64_t>;
  return {
      conv("3x3", {kBatch, {3}, {6}, {5}}, {{4}, {3}, {3}, {3}}, {{"pads", Ints{1, 1, 1, 1}}}, true),
      conv("1x1", {kBatch, {4}, {3}, {3}}, {{5}, {4}, {1}, {1}}, {}, false),
      conv("strided", {kBatch, {2}, {7}, {8}}, {{3}, {2}, {3}, {3}}, {{"strides", Ints{2, 2}}}, false),
      conv("dilated", {kBatch, {2}, {8}, {8}}, {{3}, {2}, {3}, {3}}, {{"dilations", Ints{2, 2}}}, true),
      conv("asymmetric", {kBatch, {2}, {5}, {6}}, {{3}, {2}, {2}, {3}}, {{"pads", Ints{1, 0, 0, 2}}}, true),
      conv("grouped", {kBatch, {4}, {5}, {5}}, {{6}, {2}, {3}, {3}}, {{"group", int64_t{2}}}, true),
      conv("depthwise", {kBatch, {4}, {5}, {5}}, {{4}, {1}, {3}, {3}},
           {{"group", int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}}, true),
      conv("same_upper", {kBatch, {2}, {5}, {5}}, {{3}, {2}, {2}, {2}}, {{"auto_pad", std::string("SAME_UPPER")}},
           false),
      conv("relu", {kBatch, {3}, {6}, {5}}, {{4}, {3}, {3}, {3}}, {}, true, true),
      // Channel counts that fill blocks of 8 and 16.
      conv("blocked", {kBatch, {32}, {6}, {5}}, {{16}, {32}, {3}, {3}}, {{"pads", Ints{1, 1, 1, 1}}}, true),
      conv("blocked_1x1", {kBatch, {16}, {5}, {5}}, {{32}, {16}, {1}, {1}}, {{"strides", Ints{2, 2}}}, false),
      conv("first", {kBatch, {3}, {7}, {7}}, {{16}, {3}, {3}, {3}}, {{"strides", Ints{2, 2}}}, true),
      conv("blocked_depthwise", {kBatch, {32}, {4}, {4}}, {{32}, {1}, {3}, {3}},
           {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}, true),
      conv("out_of_blocks", {kBatch, {16}, {3}, {4}}, {{5}, {16}, {1}, {1}}, {}, true),
      conv("narrow_groups", {kBatch, {16}, {4}, {4}}, {{16}, {2}, {3}, {3}},
           {{"group", int64_t{8}}, {"pads", Ints{1, 1, 1, 1}}}, false),
      // A volume: [N, C, D, H, W].
      conv("volume", {kBatch, {2}, {4}, {5}, {3}}, {{3}, {2}, {3}, {3}, {2}}, {{"pads", Ints{1, 1, 0, 1, 1, 1}}}, true),
      conv("volume_strided", {kBatch, {2}, {5}, {4}, {5}}, {{3}, {2}, {2}, {2}, {2}},
           {{"strides", Ints{2, 1, 2}}, {"dilations", Ints{1, 2, 1}}, {"pads", Ints{1, 0, 0, 0, 2, 1}}}, false),
      conv("volume_grouped", {kBatch, {4}, {3}, {4}, {3}}, {{6}, {2}, {2}, {3}, {1}}, {{"group", int64_t{2}}}, true),
      conv("volume_depthwise", {kBatch, {4}, {3}, {3}, {3}}, {{4}, {1}, {3}, {3}, {3}},
           {{"group", int64_t{4}}, {"auto_pad", std::string("SAME_UPPER")}}, true),
      conv("volume_relu", {kBatch, {16}, {2}, {3}, {3}}, {{16}, {16}, {1}, {3}, {3}}, {}, true, true),
      // Channel counts that fill blocks of 8 and 16, although only images are blocked.
      conv("volume_blocked", {kBatch, {16}, {2}, {3}, {3}}, {{32}, {16}, {2}, {1}, {3}}, {}, true),
      conv("volume_blocked_depthwise", {kBatch, {16}, {2}, {3}, {3}}, {{16}, {1}, {2}, {3}, {3}},
           {{"group", int64_t{16}}}, false),
      conv("blocked_grouped", {kBatch, {32}, {4}, {4}}, {{32}, {16}, {3}, {3}}, {{"group", int64_t{2}}}, false),
  };
}

}  // namespace conv

const Op op_Conv{.name = "Conv",
                 .inputs = {Slot::data, Slot::weight, Slot::bias},
                 .required_inputs = 2,
                 .attributes = {attribute::text("auto_pad", attribute::kPaddings), attribute::integers("dilations"),
                                attribute::integer("group"), attribute::integers("kernel_shape"),
                                attribute::integers("pads"), attribute::integers("strides")},
                 .samples_rule = SamplesRule::first_input,
                 .axes = AxesRule::channels,
                 .infer = conv::infer,
                 .forward = conv::forward,
                 .backward = conv::backward,
                 .layout = LayoutRule::any,
                 .weight_layout = conv::weight_layout,
                 .absorbs = only_relu,
                 .precision = PrecisionRule::products,
                 .factors = {0, 1},
                 .samples = conv::samples};

}  // namespace plimsoll
