// Softmax along an axis.   SoftmaxForward {x, y}   SoftmaxBackward {y, dy, dx}: dx = y · (dy - Σ dy · y)
#include "compiler/ops/softmax.h"

#include <algorithm>

#include "compiler/ops/activation.h"
#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace softmax {

Result<Dims> view_of(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  const bool matrix = node.opset() < 13;
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, node.integer("axis", matrix ? 1 : -1), x.size()));
  const size_t end = matrix ? x.size() : axis + 1;
  PLIMSOLL_ASSIGN(const Dim outer, product_of(node, x, 0, axis));
  PLIMSOLL_ASSIGN(const Dim classes, product_of(node, x, axis, end));
  PLIMSOLL_ASSIGN(const Dim inner, product_of(node, x, end, x.size()));
  if (classes.batch) return node.unsupported("normalizes over the batch of " + to_string(x));
  return Dims{outer, classes, inner};
}

}  // namespace softmax

bool softmax_normalizes(const NodeView& node, size_t axis) {
  const Dims& x = node.input_type(0).dims;
  const bool matrix = node.opset() < 13;
  const Result<size_t> first = axis_of(node, node.integer("axis", matrix ? 1 : -1), x.size());
  const auto is_one = [](const Dim& dim) { return dim == Dim{1}; };
  return first.ok() && *first == axis &&
         (!matrix || std::all_of(x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end(), is_one));
}

Result<std::vector<TensorType>> infer_softmax(const NodeView& node) {
  PLIMSOLL_ASSIGN(auto types, infer_same(node));
  PLIMSOLL_TRY(softmax::view_of(node));
  return types;
}

void forward_softmax(TaskBuilder& build) {
  const Dims view = softmax::view_of(build.node()).value();
  build.task({.kernel = build.node().node().op + "Forward",
              .operands = {viewed(build.read_input(0), view), viewed(build.write_output(0), view)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().input_type(0), 10)});
}

void backward_softmax(TaskBuilder& build) {
  const Dims view = softmax::view_of(build.node()).value();
  build.task({.kernel = build.node().node().op + "Backward",
              .kind = TaskKind::backward_data,
              .operands = {viewed(build.read_output(0), view), viewed(build.read_gradient(0), view),
                           viewed(build.write_gradient(0), view)},
              .in_place = {{0, 2}, {1, 2}},
              .flops = flops_per_element(build.node().input_type(0), 4)});
}

std::vector<Sample> softmax_samples() {
  const SampleInput image{.dims = {kBatch, {5}, {3}, {4}}, .low = -3, .high = 3};
  return {{.name = "row", .inputs = {{.dims = {kBatch, {37}}, .low = -3, .high = 3}}},
          {.name = "channels", .inputs = {image}, .attributes = {{"axis", int64_t{1}}}},
          {.name = "last", .inputs = {image}},
          {.name = "matrix", .inputs = {image}, .attributes = {{"axis", int64_t{1}}}, .opset = 11}};
}

const Op op_Softmax{.name = "Softmax",
                    .attributes = {attribute::integer("axis")},
                    .normalizes = softmax_normalizes,
                    .infer = infer_softmax,
                    .forward = forward_softmax,
                    .backward = backward_softmax,
                    .samples = softmax_samples};

}  // namespace plimsoll
