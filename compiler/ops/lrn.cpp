// LRN, local response normalization across channels.   LrnForward {x, y}   LrnBackward {x, dy, dx}
// The backward recomputes the scale from x instead of keeping a tensor of x's size.
#include "compiler/ops/op.h"
#include "runtime/attrs/lrn.h"

namespace plimsoll {
namespace lrn {

LrnAttrs attrs_of(const NodeView& node) {
  return {.size = node.integer("size", 0),
          .alpha = node.real("alpha", 1e-4),
          .beta = node.real("beta", 0.75),
          .bias = node.real("bias", 1)};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  if (x.rank() < 3 || x.dims[1].batch)
    return node.unsupported("input is " + to_string(x.dims) + ", expected [N, C, spatial…]");
  const LrnAttrs attrs = attrs_of(node);
  if (attrs.size < 1 || attrs.size > 65536) return node.invalid("size is " + std::to_string(attrs.size));
  if (!(attrs.bias > 0)) return node.unsupported("bias is " + std::to_string(attrs.bias) + ", not above 0");
  return std::vector{x};
}

void forward(TaskBuilder& build) {
  const LrnAttrs attrs = attrs_of(build.node());
  build.task({.kernel = "LrnForward",
              .attributes = to_attributes(attrs),
              .operands = {build.read_input(0), build.write_output(0)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().input_type(0), attrs.size + 10)});
}

void backward(TaskBuilder& build) {
  const LrnAttrs attrs = attrs_of(build.node());
  build.task({.kernel = "LrnBackward",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attrs),
              .operands = {build.read_input(0), build.read_gradient(0), build.write_gradient(0)},
              .in_place = {{1, 2}, {0, 2}},
              .flops = flops_per_element(build.node().input_type(0), 2 * attrs.size + 15)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims x, std::map<std::string, NodeAttribute> attributes) {
    return Sample{.name = std::move(name), .inputs = {{.dims = std::move(x)}}, .attributes = std::move(attributes)};
  };
  const int64_t three = 3, four = 4, five = 5, nine = 9, wide = 67;
  return {sample("alexnet", {kBatch, {7}, {3}, {2}}, {{"size", five}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 2.0}}),
          sample("wide", {kBatch, {70}, {1}, {2}}, {{"size", wide}, {"alpha", 1.0}}),
          sample("all", {kBatch, {3}, {2}, {2}}, {{"size", nine}, {"alpha", 2.0}}),
          sample("five_by_four", {kBatch, {7}, {2}, {4}}, {{"size", five}, {"alpha", 1.0}}),
          sample("three_by_four", {kBatch, {6}, {3}, {4}}, {{"size", three}, {"alpha", 0.5}, {"beta", 0.6}}),
          sample("nine", {kBatch, {12}, {1}, {3}}, {{"size", nine}, {"alpha", 1.0}}),
          sample("even", {kBatch, {6}, {2}, {2}}, {{"size", four}, {"alpha", 1.0}, {"beta", 0.5}}),
          sample("blocked", {kBatch, {32}, {2}, {3}}, {{"size", five}, {"alpha", 1.0}, {"beta", 0.9}})};
}

}  // namespace lrn

const Op op_LRN{.name = "LRN",
                .attributes = {attribute::real("alpha"), attribute::real("beta"), attribute::real("bias"),
                               attribute::integer("size")},
                .infer = lrn::infer,
                .forward = lrn::forward,
                .backward = lrn::backward,
                .layout = LayoutRule::channels,
                .samples = lrn::samples};

}  // namespace plimsoll
