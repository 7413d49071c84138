// Gemm: Y = alpha · A' · B' + beta · C on matrices; C broadcasts to [M, N] and is optional.
//   MatMul {a, b, c, y} for the product and both its gradients (compiler/ops/product.h)
//   SumToShape {dy, dc}
#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"
#include "compiler/ops/product.h"

namespace plimsoll {
namespace gemm {

Product product_of(const NodeView& node) {
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  const Dims &a = node.input_type(0).dims, &b = node.input_type(1).dims;
  return {.a = a,
          .b = b,
          .y = {a[ta ? 1 : 0], b[tb ? 0 : 1]},
          .transpose_a = ta,
          .transpose_b = tb,
          .alpha = node.real("alpha", 1)};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires two matrices");
  const TensorType &a = node.input_type(0), &b = node.input_type(1);
  if (a.rank() != 2 || b.rank() != 2)
    return node.invalid("requires two matrices, got " + to_string(a.dims) + " and " + to_string(b.dims));
  const Product product = product_of(node);
  if (a.dims[product.transpose_a ? 0 : 1] != b.dims[product.transpose_b ? 1 : 0])
    return node.invalid(to_string(a.dims) + (product.transpose_a ? " transposed" : "") + " times " +
                        to_string(b.dims) + (product.transpose_b ? " transposed" : "") + ": the shapes do not match");
  if (node.has_input(2)) {
    PLIMSOLL_ASSIGN(const Dims sum, broadcast(node, product.y, node.input_type(2).dims));
    if (sum != product.y)
      return node.invalid("the addend " + to_string(node.input_type(2).dims) + " does not broadcast to " +
                          to_string(product.y));
  }
  return std::vector{TensorType{a.type, product.y}};
}

void forward(TaskBuilder& build) {
  forward_product(build, product_of(build.node()), build.read_input(2), build.node().real("beta", 1));
}

void backward(TaskBuilder& build) {
  backward_product(build, product_of(build.node()));
  give_summed_gradient(build, 2, build.read_gradient(0), build.node().real("beta", 1));
}

std::vector<Sample> samples() {
  const auto gemm = [](std::string name, Dims a, Dims b, Dims c, std::map<std::string, NodeAttribute> attributes) {
    Sample sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(a)}, {.dims = std::move(b), .kind = ValueKind::parameter}},
                  .attributes = std::move(attributes)};
    if (!c.empty()) sample.inputs.push_back({.dims = std::move(c), .kind = ValueKind::parameter});
    return sample;
  };
  const SampleInput matrix{.dims = {{3}, {4}}, .kind = ValueKind::parameter};
  const int64_t yes = 1;
  return {
      gemm("linear", {kBatch, {7}}, {{5}, {7}}, {{5}}, {{"transB", yes}}),
      gemm("plain", {kBatch, {7}}, {{7}, {5}}, {}, {}),
      gemm("row", {kBatch, {7}}, {{7}, {5}}, {{1}, {5}}, {{"alpha", 0.5}, {"beta", 2.0}}),
      gemm("scalar", {kBatch, {7}}, {{7}, {5}}, {{1}}, {{"beta", 0.25}}),
      gemm("left", {{7}, kBatch}, {{7}, {5}}, {{5}}, {{"transA", yes}}),
      gemm("both", {{7}, kBatch}, {{5}, {7}}, {{5}}, {{"transA", yes}, {"transB", yes}, {"alpha", 1.5}}),
      {.name = "full", .inputs = {{.dims = {kBatch, {3}}}, matrix, {.dims = {kBatch, {4}}}}},
      {.name = "column", .inputs = {{.dims = {kBatch, {3}}}, matrix, {.dims = {kBatch, {1}}}}},
  };
}

}  // namespace gemm

const Op op_Gemm{.name = "Gemm",
                 .inputs = {Slot::data, Slot::weight, Slot::bias},
                 .required_inputs = 2,
                 .attributes = {attribute::real("alpha"), attribute::real("beta"), attribute::integer("transA"),
                                attribute::integer("transB")},
                 .samples_rule = SamplesRule::first_input,
                 .axes = AxesRule::changed,
                 .infer = gemm::infer,
                 .forward = gemm::forward,
                 .backward = gemm::backward,
                 .precision = PrecisionRule::products,
                 .factors = {0, 1},
                 .samples = gemm::samples};

}  // namespace plimsoll
