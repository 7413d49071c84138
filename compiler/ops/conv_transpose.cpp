// ConvTranspose with two or three spatial dimensions: the data gradient of a convolution as a layer. Its kernels are
// the convolution's with input and output exchanged; w is [C_in, C_out / group, kH, kW], or [C_in, C_out / group, kD,
// kH, kW].
//   ConvTransposeForward {x, w, b, y};   dx = ConvForward {dy, w, –, dx};   dw = ConvBackwardWeights {dy, x, dw, –}
//   db = ConvBackwardWeights {–, dy, –, db}
#include "compiler/ops/op.h"
#include "compiler/ops/window.h"
#include "runtime/attrs/conv.h"

namespace plimsoll {
namespace conv_transpose {

struct Shape {
  ConvAttrs attrs;
  IntList spatial;
};

Result<Shape> shape_of(const NodeView& node) {
  const TensorType &x = node.input_type(0), &w = node.input_type(1);
  PLIMSOLL_ASSIGN(const Window window, window_of(node, spatial_of(w)));
  const size_t rank = window.rank();
  const auto more = node.integers("output_padding", std::vector<int64_t>(rank, 0)),
             wanted = node.integers("output_shape");
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (more.size() != rank) return node.invalid("output_padding must have " + std::to_string(rank) + " entries");
  Shape shape{.attrs = {.strides = window.strides, .dilations = window.dilations, .pads = window.pads,
                        .group = node.integer("group", 1)},
              .spatial = window.kernel};
  for (size_t i = 0; i < rank; ++i) {
    if (x.dims[2 + i].batch) return node.unsupported("a spatial dimension depends on the batch");
    const int64_t stride = window.strides[i], reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (more[i] < 0)
      return node.invalid("output_padding is " + std::to_string(more[i]) + "; it must not be negative");
    // Without output_shape and auto_pad, such a node is written as others (simplify/spellings_padding.cpp).
    if (more[i] >= stride) return node.unsupported("output_padding that is not below the stride");
    const int64_t whole = stride * (x.dims[2 + i].value - 1) + more[i] + reach;
    if (same || wanted.size() >= rank) {
      // The padding follows from the requested size; an odd row goes to the end only for SAME_UPPER, as ONNX specifies.
      const int64_t size = wanted.size() >= rank ? wanted[wanted.size() - rank + i] : stride * x.dims[2 + i].value;
      const int64_t total = whole - size;
      if (total < 0) return node.unsupported("output_shape is larger than the input can produce");
      shape.attrs.pads[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      shape.attrs.pads[i + rank] = total - shape.attrs.pads[i];
    }
    shape.spatial[i] = whole - shape.attrs.pads[i] - shape.attrs.pads[i + rank];
    if (shape.spatial[i] < 1) return node.invalid("the padding leaves no output");
  }
  return shape;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires an input and weights");
  const TensorType &x = node.input_type(0), &w = node.input_type(1);
  if (!has_window_rank(x))
    return node.unsupported("only convolutions over one, two or three dimensions have kernels, input is " +
                            to_string(x.dims));
  if (w.rank() != x.rank())
    return node.invalid("weights " + to_string(w.dims) + " do not fit input " + to_string(x.dims));
  const int64_t group = node.integer("group", 1);
  if (group < 1 || w.dims[0] != x.dims[1] || w.dims[0].value % group != 0)
    return node.invalid("weights " + to_string(w.dims) + " do not fit input " + to_string(x.dims) + " in " +
                        std::to_string(group) + " groups");
  const Dim channels{w.dims[1].value * group};
  if (node.has_input(2) && node.input_type(2).dims != Dims{channels})
    return node.invalid("bias is " + to_string(node.input_type(2).dims) + "; expected " +
                        to_string(Dims{channels}));
  PLIMSOLL_ASSIGN(const Shape shape, shape_of(node));
  return std::vector{TensorType{x.type, image_dims(x.dims[0], channels, shape.spatial)}};
}

Affine flops(const NodeView& node) {
  const TensorType& w = node.input_type(1);
  return flops_per_element(node.input_type(0), 2 * w.dims[1].value * elements_of(spatial_of(w)));
}

void forward(TaskBuilder& build) {
  build.task({.kernel = "ConvTransposeForward",
              .attributes = to_attributes(shape_of(build.node()).value().attrs),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.write_output(0)},
              .flops = flops(build.node())});
}

void backward(TaskBuilder& build) {
  const Attributes attributes = to_attributes(shape_of(build.node()).value().attrs);
  const Operand dy = build.read_gradient(0);
  if (build.wants_gradient(1)) {
    const bool grouped = build.node().integer("group", 1) != 1;
    build.task({.kernel = "ConvBackwardWeights",
                .kind = TaskKind::backward_weights,
                .attributes = attributes,
                .operands = {dy, build.read_input(0),
                             grouped ? build.write_gradient(1) : build.write_gradient_of_product(1), Operand{}},
                .flops = flops(build.node())});
  }
  if (build.wants_gradient(2))
    build.task({.kernel = "ConvBackwardWeights",
                .kind = TaskKind::backward_weights,
                .attributes = attributes,
                .operands = {Operand{}, dy, Operand{}, build.write_gradient(2)},
                .flops = flops_per_element(build.node().output_type(0), 1)});
  if (build.wants_gradient(0))
    build.task({.kernel = "ConvForward",
                .kind = TaskKind::backward_data,
                .attributes = attributes,
                .operands = {dy, build.read_input(1), Operand{}, build.write_gradient(0)},
                .flops = flops(build.node())});
}

Layout weight_layout(const NodeView& node, size_t i, Layout images) {
  if (i != 1 || node.input_type(1).rank() != 4) return Layout::plain;  // volumes and their weights are plain
  if (images == Layout::nhwc) return images;
  const int64_t block = block_of(images);
  const TensorType& w = node.input_type(1);
  if (i != 1 || node.integer("group", 1) != 1 || w.dims[0].value % block != 0 || w.dims[1].value % block != 0)
    return Layout::plain;
  return block == 16 ? Layout::OIhw16i16o : Layout::OIhw8i8o;
}

std::vector<Sample> samples() {
  using Ints = std::vector<int64_t>;
  const auto sample = [](std::string name, Dims x, Dims w, std::map<std::string, NodeAttribute> attributes,
                         int64_t bias) {
    Sample made{.name = std::move(name),
                .inputs = {{.dims = std::move(x)}, {.dims = std::move(w), .kind = ValueKind::parameter}},
                .attributes = std::move(attributes)};
    if (bias > 0) made.inputs.push_back({.dims = {{bias}}, .kind = ValueKind::parameter});
    return made;
  };
  return {
      sample("2x2", {kBatch, {3}, {3}, {4}}, {{3}, {2}, {2}, {2}}, {{"strides", Ints{2, 2}}}, 2),
      sample("padded", {kBatch, {2}, {4}, {4}}, {{2}, {3}, {3}, {3}},
             {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}}, 0),
      sample("dilated", {kBatch, {2}, {3}, {3}}, {{2}, {2}, {2}, {3}}, {{"dilations", Ints{2, 1}}}, 2),
      sample("same", {kBatch, {2}, {3}, {3}}, {{2}, {2}, {3}, {3}},
             {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}, 0),
      sample("grouped", {kBatch, {4}, {3}, {3}}, {{4}, {3}, {3}, {3}}, {{"group", int64_t{2}}}, 6),
      sample("volume", {kBatch, {3}, {2}, {3}, {2}}, {{3}, {2}, {2}, {2}, {2}}, {{"strides", Ints{2, 2, 2}}}, 2),
      sample("volume_padded", {kBatch, {4}, {3}, {2}, {3}}, {{4}, {3}, {3}, {2}, {3}},
             {{"strides", Ints{2, 1, 2}},
              {"pads", Ints{1, 0, 1, 1, 1, 0}},
              {"output_padding", Ints{1, 0, 0}},
              {"group", int64_t{2}}},
             6),
      sample("volume_blocked", {kBatch, {16}, {2}, {2}, {3}}, {{16}, {32}, {2}, {1}, {2}}, {}, 32),
      sample("blocked", {kBatch, {32}, {3}, {3}}, {{32}, {16}, {3}, {3}}, {{"pads", Ints{1, 1, 1, 1}}}, 16),
  };
}

}  // namespace conv_transpose

const Op op_ConvTranspose{.name = "ConvTranspose",
                          .inputs = {Slot::data, Slot::weight, Slot::bias},
                          .required_inputs = 2,
                          .attributes = {attribute::text("auto_pad", attribute::kPaddings),
                                         attribute::integers("dilations"), attribute::integer("group"),
                                         attribute::integers("kernel_shape"), attribute::integers("output_padding"),
                                         attribute::integers("output_shape"), attribute::integers("pads"),
                                         attribute::integers("strides")},
                          .axes = AxesRule::channels,
                          .infer = conv_transpose::infer,
                          .forward = conv_transpose::forward,
                          .backward = conv_transpose::backward,
                          .layout = LayoutRule::any,
                          .weight_layout = conv_transpose::weight_layout,
                          .precision = PrecisionRule::products,
                          .factors = {0, 1},
                          .samples = conv_transpose::samples};

}  // namespace plimsoll
