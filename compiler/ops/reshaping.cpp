#include "compiler/ops/reshaping.h"

#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/support/bytes.h"

namespace plimsoll {

void forward_alias(TaskBuilder& build) { build.alias_output(0, 0); }

void backward_alias(TaskBuilder& build) {
  give_summed_gradient(build, 0, viewed(build.read_gradient(0), build.node().input_type(0).dims));
}

Result<Dim> product_of(const NodeView& node, const Dims& dims, size_t first, size_t last) {
  Dim product{1};
  for (size_t i = first; i < last; ++i) {
    const auto value = checked_mul(product.value, dims[i].value);
    if (!value) return node.invalid("dimensions " + to_string(dims) + " have more than 2^63 elements");
    if (product.batch && dims[i].batch) return node.unsupported("samples are in two dimensions of " + to_string(dims));
    product = {*value, product.batch || dims[i].batch};
  }
  return product;
}

Result<size_t> axis_of(const NodeView& node, int64_t axis, size_t rank) {
  const int64_t n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    return node.invalid("axis " + std::to_string(axis) + " is outside a tensor of " + std::to_string(n) +
                        " dimensions");
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

Result<std::optional<std::vector<size_t>>> axes_of(const NodeView& node, size_t i, size_t rank) {
  std::vector<int64_t> given = node.integers("axes");
  if (node.has_input(i)) {
    const auto constant = node.constant_integers(i);
    if (!constant) return node.unsupported("axes (input " + std::to_string(i) + ") are not known while compiling");
    given = *constant;
  } else if (!node.has("axes")) {
    return std::optional<std::vector<size_t>>{};
  }
  std::vector<size_t> axes;
  for (const int64_t axis : given) {
    PLIMSOLL_ASSIGN(const size_t resolved, axis_of(node, axis, rank));
    axes.push_back(resolved);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return node.invalid("an axis is given twice");
  return std::optional(std::move(axes));
}

}  // namespace plimsoll
