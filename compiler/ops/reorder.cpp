// Reorder: Plimsoll's own operator, inserted by network/layout.h between two nodes with different layouts.
//   Reorder {x, y}; its gradient is the inverse reorder.
#include "compiler/ops/op.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/none.h"

namespace plimsoll {
namespace reorder {

// Not inferred: assign_layouts sets the output's type.
Result<std::vector<TensorType>> infer(const NodeView& node) { return std::vector{node.input_type(0)}; }

// With one pixel per channel, or with one channel, all layouts are the same bytes: blocks are never padded.
bool same_bytes(const TensorType& type) {
  return type.rank() == 4 && (type.dims[1] == Dim{1} || (type.dims[2] == Dim{1} && type.dims[3] == Dim{1}));
}

void forward(TaskBuilder& build) {
  if (same_bytes(build.node().input_type(0))) return build.alias_output(0, 0);
  build.task({.kernel = "Reorder", .operands = {build.read_input(0), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  if (same_bytes(build.node().input_type(0))) return backward_alias(build);
  build.task({.kernel = "Reorder",
              .kind = TaskKind::backward_data,
              .operands = {build.read_gradient(0), build.write_gradient(0)}});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, int64_t channels, int64_t height, int64_t width) {
    return Sample{.name = std::move(name), .inputs = {{.dims = {kBatch, {channels}, {height}, {width}}}}};
  };
  return {sample("image", 32, 3, 2),      sample("few", 3, 9, 8),  sample("many_pixels", 68, 10, 10),
          sample("odd_pixels", 40, 5, 5), sample("odd", 33, 9, 9), sample("one_channel", 1, 4, 3)};
}

}  // namespace reorder

const Op op_Reorder{.name = "Reorder",
                    .first_opset = 0,
                    .last_opset = 0,
                    .infer = reorder::infer,
                    .forward = reorder::forward,
                    .backward = reorder::backward,
                    .layout = LayoutRule::any,
                    .samples = reorder::samples};

}  // namespace plimsoll
