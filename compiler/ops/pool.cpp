#include "compiler/ops/pool.h"

#include <algorithm>

namespace plimsoll {
namespace {

Result<PoolAttrs> attrs_of(const NodeView& node) {
  const auto kernel = node.integers("kernel_shape");
  if (kernel.size() + 2 != node.input_type(0).rank())
    return node.invalid("kernel_shape does not have one entry per spatial dimension");
  IntList size;
  for (int64_t item : kernel) {
    if (item < 1) return node.invalid("kernel_shape is below 1");
    size.push_back(item);
  }
  PLIMSOLL_ASSIGN(const Window window, window_of(node, size));
  return PoolAttrs{.kernel = window.kernel,
                   .strides = window.strides,
                   .dilations = window.dilations,
                   .pads = window.pads,
                   .count_padding = node.integer("count_include_pad", 0) != 0};
}

}  // namespace

PoolAttrs pool_attrs(const NodeView& node) { return attrs_of(node).value(); }

Result<TensorType> infer_pool(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  if (!has_window_rank(x))
    return node.unsupported("only pools over one, two or three dimensions have kernels, input is " + to_string(x.dims));
  PLIMSOLL_ASSIGN(const PoolAttrs attrs, attrs_of(node));
  const size_t rank = attrs.kernel.size();
  for (size_t i = 0; i < 2 * rank; ++i)
    if (attrs.pads[i] >= (attrs.kernel[i % rank] - 1) * attrs.dilations[i % rank] + 1)
      return node.unsupported("a window that lies entirely in the padding: pads must be smaller than the window");
  PLIMSOLL_ASSIGN(const Window window, window_of(node, attrs.kernel));
  PLIMSOLL_ASSIGN(const auto spatial, window.output(node, x));
  return TensorType{x.type, image_dims(x.dims[0], x.dims[1], spatial)};
}

bool pools_nothing(const PoolAttrs& attrs) {
  const auto all = [](const IntList& list, int64_t wanted) {
    return std::all_of(list.begin(), list.end(), [=](int64_t item) { return item == wanted; });
  };
  return all(attrs.kernel, 1) && all(attrs.strides, 1) && all(attrs.pads, 0);
}

Sample pool_sample(std::string name, Dims x, std::vector<int64_t> kernel,
                   std::map<std::string, NodeAttribute> attributes) {
  attributes["kernel_shape"] = std::move(kernel);
  return {.name = std::move(name), .inputs = {{.dims = std::move(x)}}, .attributes = std::move(attributes)};
}

}  // namespace plimsoll
