#include "compiler/ops/reshaping.h"

#include "compiler/ops/broadcast.h"
#include "compiler/ops/dims.h"

namespace plimsoll {

void forward_alias(TaskBuilder& build) { build.alias_output(0, 0); }

void backward_alias(TaskBuilder& build) {
  give_summed_gradient(build, 0, viewed(build.read_gradient(0), build.node().input_type(0).dims));
}

Result<Dim> product_of(const NodeView& node, const Dims& dims, size_t first, size_t last) {
  return named(node, dims::product_of(dims, first, last));
}

Result<size_t> axis_of(const NodeView& node, int64_t axis, size_t rank) {
  return named(node, dims::axis_of(axis, rank));
}

Result<std::optional<std::vector<size_t>>> axes_of(const NodeView& node, size_t i, size_t rank) {
  std::vector<int64_t> given = node.integers("axes");
  if (node.has_input(i)) {
    const auto constant = node.constant_integers(i);
    if (!constant) return node.unsupported("axes (input " + std::to_string(i) + ") are not known at compile time");
    given = *constant;
  } else if (!node.has("axes")) {
    return std::optional<std::vector<size_t>>{};
  }
  PLIMSOLL_ASSIGN(std::vector<size_t> axes, named(node, dims::axes_of(given, rank)));
  return std::optional(std::move(axes));
}

}  // namespace plimsoll
