#include "compiler/ops/pool.h"

namespace plimsoll {
namespace {

Result<PoolAttrs> attrs_of(const NodeView& node) {
  const auto kernel = node.integers("kernel_shape");
  if (kernel.size() != 2) return node.unsupported("only pools over two dimensions have kernels");
  if (kernel[0] < 1 || kernel[1] < 1) return node.invalid("kernel_shape is below 1");
  PLIMSOLL_ASSIGN(const Window window, window_of(node, kernel[0], kernel[1]));
  return PoolAttrs{.kernel = window.kernel,
                   .strides = window.strides,
                   .dilations = window.dilations,
                   .pads = window.pads,
                   .count_padding = node.integer("count_include_pad", 0) != 0};
}

}  // namespace

PoolAttrs pool_attrs(const NodeView& node) { return attrs_of(node).value(); }

Result<TensorType> infer_pool(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  if (x.rank() != 4) return node.unsupported("only pools over two dimensions have kernels, input is " + to_string(x.dims));
  PLIMSOLL_ASSIGN(const PoolAttrs attrs, attrs_of(node));
  for (size_t i = 0; i < 4; ++i)
    if (attrs.pads[i] >= (attrs.kernel[i % 2] - 1) * attrs.dilations[i % 2] + 1)
      return node.unsupported("a window that lies in the padding altogether: pads are not below the window");
  PLIMSOLL_ASSIGN(const Window window, window_of(node, attrs.kernel[0], attrs.kernel[1]));
  PLIMSOLL_ASSIGN(const auto spatial, window.output(node, x));
  return TensorType{x.type, {x.dims[0], x.dims[1], {spatial[0]}, {spatial[1]}}};
}

bool pools_nothing(const PoolAttrs& attrs) {
  return attrs.kernel == IntList{1, 1} && attrs.strides == IntList{1, 1} && attrs.pads == IntList{0, 0, 0, 0};
}

Sample pool_sample(std::string name, Dims x, std::vector<int64_t> kernel,
                   std::map<std::string, NodeAttribute> attributes) {
  attributes["kernel_shape"] = std::move(kernel);
  return {.name = std::move(name), .inputs = {{.dims = std::move(x)}}, .attributes = std::move(attributes)};
}

}  // namespace plimsoll
