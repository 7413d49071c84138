// Relu: y = max(x, 0).   ReluForward {x, y}   ReluBackward {y, dy, dx}
// The backward reads the output, not the input: x need not be kept, and y may overwrite it.
#include "compiler/ops/op.h"
#include "runtime/attrs/none.h"

namespace plimsoll {
namespace relu {

Result<std::vector<TensorType>> infer(const NodeView& node) { return std::vector{node.input_type(0)}; }

void forward(TaskBuilder& build) {
  build.task({.kernel = "ReluForward",
              .operands = {build.read_input(0), build.write_output(0)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

void backward(TaskBuilder& build) {
  build.task({.kernel = "ReluBackward",
              .kind = TaskKind::backward_data,
              .operands = {build.read_output(0), build.read_gradient(0), build.write_gradient(0)},
              .in_place = {{1, 2}},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

std::vector<Sample> samples() {
  return {{.name = "flat", .inputs = {{.dims = {kBatch, {7}}}}},
          {.name = "image", .inputs = {{.dims = {kBatch, {3}, {4}, {5}}}}},
          {.name = "parameter", .inputs = {{.dims = {{7}}, .kind = ValueKind::parameter}}}};
}

}  // namespace relu

const Op op_Relu{.name = "Relu",
                 .infer = relu::infer,
                 .forward = relu::forward,
                 .backward = relu::backward,
                 .layout = LayoutRule::elementwise,
                 .samples = relu::samples};

}  // namespace plimsoll
