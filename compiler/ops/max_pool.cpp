// MaxPool over two or three dimensions.   MaxPoolForward {x, y, indices}   MaxPoolBackward {indices, dy, dx}
// The backward reads neither x nor y: `indices` records for each output which position of its window was the largest,
// in one byte for windows of up to 255 positions. Its format is private to the kernels; it is absent if no gradient is
// needed.
#include "compiler/ops/pool.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace max_pool {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(TensorType y, infer_pool(node));
  if (node.has_output(1))
    return node.unsupported(
        "the output Indices is read, but not supported: upsample with F.interpolate or nn.ConvTranspose2d instead of "
        "nn.MaxUnpool2d");
  return std::vector{y};
}

TensorType indices_type(const NodeView& node, const PoolAttrs& attrs) {
  TensorType type = node.output_type(0);
  type.type = elements_of(attrs.kernel) <= 255 ? DataType::u8 : DataType::i32;
  return type;
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const PoolAttrs attrs = pool_attrs(node);
  if (pools_nothing(attrs)) return build.alias_output(0, 0);
  build.task({.kernel = "MaxPoolForward",
              .attributes = to_attributes(attrs),
              .operands = {build.read_input(0), build.write_output(0),
                           build.wants_gradient(0) ? build.write_stash("indices", indices_type(node, attrs))
                                                   : Operand{}},
              .flops = flops_per_element(node.output_type(0), elements_of(attrs.kernel))});
}

void backward(TaskBuilder& build) {
  const PoolAttrs attrs = pool_attrs(build.node());
  if (pools_nothing(attrs)) return backward_alias(build);
  build.task({.kernel = "MaxPoolBackward",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attrs),
              .operands = {build.read_stash("indices"), build.read_gradient(0), build.write_gradient(0)},
              .flops = flops_per_element(build.node().output_type(0), 1)});
}

std::vector<Sample> samples() {
  using Ints = std::vector<int64_t>;
  return {
      pool_sample("3x3", {kBatch, {3}, {7}, {8}}, {3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}),
      pool_sample("ceil", {kBatch, {2}, {8}, {6}}, {3, 3}, {{"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}),
      pool_sample("ceil_of_one", {kBatch, {2}, {2}, {2}}, {3, 3}, {{"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}),
      pool_sample("overlapping", {kBatch, {2}, {5}, {5}}, {2, 3}, {}),
      pool_sample("dilated", {kBatch, {2}, {7}, {7}}, {2, 2}, {{"dilations", Ints{2, 2}}}),
      pool_sample("same_lower", {kBatch, {2}, {5}, {4}}, {2, 2}, {{"auto_pad", std::string("SAME_LOWER")}}),
      pool_sample("large_window", {kBatch, {1}, {17}, {17}}, {16, 16}, {}),
      pool_sample("large_window_by_four", {kBatch, {4}, {17}, {17}}, {17, 16}, {}),
      pool_sample("blocked", {kBatch, {32}, {6}, {7}}, {3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}),
      pool_sample("volume", {kBatch, {2}, {4}, {5}, {5}}, {2, 3, 2},
                  {{"strides", Ints{2, 2, 1}}, {"pads", Ints{1, 1, 0, 0, 1, 1}}}),
      pool_sample("volume_dilated", {kBatch, {2}, {5}, {4}, {3}}, {2, 2, 2},
                  {{"strides", Ints{1, 2, 2}}, {"dilations", Ints{2, 1, 1}}, {"ceil_mode", int64_t{1}}}),
      pool_sample("volume_large_window", {kBatch, {1}, {7}, {8}, {8}}, {6, 7, 7}, {}),
      pool_sample("nothing", {kBatch, {3}, {2}, {2}}, {1, 1}, {}),
  };
}

}  // namespace max_pool

const Op op_MaxPool{.name = "MaxPool",
                    .most_outputs = 2,
                    .attributes = {attribute::text("auto_pad", attribute::kPaddings),
                                   attribute::integer("ceil_mode").since(10),
                                   attribute::integers("dilations").since(10), attribute::integers("kernel_shape"),
                                   attribute::integers("pads"), attribute::integer("storage_order").since(8),
                                   attribute::integers("strides")},
                    .infer = max_pool::infer,
                    .forward = max_pool::forward,
                    .backward = max_pool::backward,
                    .layout = LayoutRule::channels,
                    .samples = max_pool::samples};

}  // namespace plimsoll
