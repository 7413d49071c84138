// Expand: x stretched to a shape known while compiling (a class token for every sample).   BroadcastTo {x, y}
// The gradient is summed over what was stretched, samples included. An entry of -1, which no file has, is the number of
// samples (compiler/import/builder.cpp).
#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {
namespace expand {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 has kernels, the input is " + to_string(x));
  const auto target = node.constant_integers(1);
  if (!target) return node.unsupported("the shape (input 1) is not known while compiling");
  Dims shape;
  for (const int64_t entry : *target) shape.push_back(entry == -1 ? kBatch : Dim{entry});
  PLIMSOLL_ASSIGN(const Dims dims, broadcast(node, x.dims, shape));
  return std::vector{TensorType{x.type, dims}};
}

bool stretches(const NodeView& node) { return node.input_type(0).elements() != node.output_type(0).elements(); }

void forward(TaskBuilder& build) {
  if (!stretches(build.node())) return forward_alias(build);
  build.task({.kernel = "BroadcastTo", .operands = {build.read_input(0), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  if (!stretches(build.node())) return backward_alias(build);
  give_summed_gradient(build, 0, build.read_gradient(0));
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims dims, ValueKind kind, std::vector<double> target) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(dims), .kind = kind},
                             {.dims = {{static_cast<int64_t>(target.size())}},
                              .kind = ValueKind::constant,
                              .constant = target,
                              .type = DataType::i64}}};
  };
  return {sample("class_token", {{1}, {1}, {5}}, ValueKind::parameter, {-1, 1, 5}),
          sample("column", {kBatch, {3}, {1}}, ValueKind::intermediate, {1, 1, 4}),
          sample("row", {{5}}, ValueKind::parameter, {-1, 2, 5}),
          sample("as_it_is", {kBatch, {3}}, ValueKind::intermediate, {1, 1, 3})};
}

}  // namespace expand

const Op op_Expand{.name = "Expand",
                   .first_opset = 8,
                   .infer = expand::infer,
                   .forward = expand::forward,
                   .backward = expand::backward,
                   .samples = expand::samples};

}  // namespace plimsoll
