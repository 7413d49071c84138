// GlobalAveragePool: [N, C, …] → [N, C, 1, …].   GlobalAveragePoolForward {x, y}   GlobalAveragePoolBackward {dy, dx}
#include "compiler/ops/op.h"
#include "runtime/attrs/none.h"

namespace plimsoll {
namespace global_average_pool {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  TensorType y = node.input_type(0);
  if (y.rank() < 3) return node.invalid("input is " + to_string(y.dims) + ", expected [N, C, spatial…]");
  for (size_t axis = 1; axis < y.rank(); ++axis)
    if (y.dims[axis].batch) return node.unsupported("a dimension after the first depends on the batch");
  for (size_t axis = 2; axis < y.rank(); ++axis) y.dims[axis] = {1};
  return std::vector{y};
}

void forward(TaskBuilder& build) {
  build.task({.kernel = "GlobalAveragePoolForward",
              .operands = {build.read_input(0), build.write_output(0)},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

void backward(TaskBuilder& build) {
  build.task({.kernel = "GlobalAveragePoolBackward",
              .kind = TaskKind::backward_data,
              .operands = {build.read_gradient(0), build.write_gradient(0)},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

std::vector<Sample> samples() {
  return {{.name = "image", .inputs = {{.dims = {kBatch, {3}, {5}, {4}}}}},
          {.name = "series", .inputs = {{.dims = {kBatch, {2}, {9}}}}},
          {.name = "blocked", .inputs = {{.dims = {kBatch, {32}, {3}, {3}}}}}};
}

}  // namespace global_average_pool

const Op op_GlobalAveragePool{.name = "GlobalAveragePool",
                              .infer = global_average_pool::infer,
                              .forward = global_average_pool::forward,
                              .backward = global_average_pool::backward,
                              .layout = LayoutRule::channels,
                              .samples = global_average_pool::samples};

}  // namespace plimsoll
