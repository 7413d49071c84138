// AveragePool over two or three dimensions.   AveragePoolForward {x, y}   AveragePoolBackward {dy, dx}
// With count_include_pad a window counts the padding that the node declares, but not the padding that ceil_mode
// appends, as in PyTorch and in ONNX since opset 19.
#include "compiler/ops/pool.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace average_pool {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(TensorType y, infer_pool(node));
  return std::vector{y};
}

void task(TaskBuilder& build, const char* kernel, TaskKind kind, const Operand& from, const Operand& to) {
  const PoolAttrs attrs = pool_attrs(build.node());
  build.task({.kernel = kernel,
              .kind = kind,
              .attributes = to_attributes(attrs),
              .operands = {from, to},
              .flops = flops_per_element(build.node().output_type(0), elements_of(attrs.kernel))});
}

void forward(TaskBuilder& build) {
  if (pools_nothing(pool_attrs(build.node()))) return build.alias_output(0, 0);
  task(build, "AveragePoolForward", TaskKind::forward, build.read_input(0), build.write_output(0));
}

void backward(TaskBuilder& build) {
  if (pools_nothing(pool_attrs(build.node()))) return backward_alias(build);
  task(build, "AveragePoolBackward", TaskKind::backward_data, build.read_gradient(0), build.write_gradient(0));
}

std::vector<Sample> samples() {
  using Ints = std::vector<int64_t>;
  const int64_t yes = 1;
  return {
      pool_sample("2x2", {kBatch, {3}, {6}, {6}}, {2, 2}, {{"strides", Ints{2, 2}}}),
      pool_sample("padded", {kBatch, {2}, {5}, {6}}, {3, 3}, {{"pads", Ints{1, 1, 1, 1}}}),
      pool_sample("count_padding", {kBatch, {2}, {5}, {6}}, {3, 3},
                  {{"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", yes}}),
      pool_sample(
          "ceil", {kBatch, {2}, {6}, {7}}, {3, 2},
          {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", yes}, {"count_include_pad", yes}}),
      pool_sample("ceil_of_one", {kBatch, {2}, {2}, {3}}, {3, 3}, {{"strides", Ints{2, 2}}, {"ceil_mode", yes}}),
      pool_sample("stepped_over", {kBatch, {1}, {1}, {4}}, {2, 2},
                  {{"dilations", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 0}}}),
      pool_sample("blocked", {kBatch, {16}, {5}, {5}}, {3, 3}, {{"strides", Ints{2, 2}}}),
      pool_sample("volume", {kBatch, {2}, {4}, {5}, {4}}, {2, 3, 2},
                  {{"strides", Ints{2, 2, 1}}, {"pads", Ints{1, 1, 0, 0, 1, 1}}}),
      pool_sample("volume_counted", {kBatch, {2}, {5}, {4}, {3}}, {3, 2, 2},
                  {{"strides", Ints{2, 2, 2}},
                   {"pads", Ints{1, 1, 1, 1, 1, 1}},
                   {"ceil_mode", yes},
                   {"count_include_pad", yes}}),
      pool_sample("nothing", {kBatch, {3}, {2}, {2}}, {1, 1}, {}),
  };
}

}  // namespace average_pool

const Op op_AveragePool{.name = "AveragePool",
                        .attributes = {attribute::text("auto_pad", attribute::kPaddings),
                                       attribute::integer("ceil_mode").since(10),
                                       attribute::integer("count_include_pad"),
                                       attribute::integers("dilations").since(19),
                                       attribute::integers("kernel_shape"), attribute::integers("pads"),
                                       attribute::integers("strides")},
                        .infer = average_pool::infer,
                        .forward = average_pool::forward,
                        .backward = average_pool::backward,
                        .layout = LayoutRule::channels,
                        .samples = average_pool::samples};

}  // namespace plimsoll
