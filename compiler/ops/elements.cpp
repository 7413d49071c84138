#include "compiler/ops/elements.h"

#include "compiler/ops/reshaping.h"

namespace plimsoll {

size_t elements_axis(const NodeView& node) {
  return axis_of(node, node.integer("axis", 0), node.input_type(0).rank()).value();
}

Status check_elements(const NodeView& node, const TensorType& indices) {
  const TensorType& x = node.input_type(0);
  if (indices.type != DataType::i32 && indices.type != DataType::i64)
    return node.invalid("indices are " + to_string(indices) + "; expected integers");
  if (x.rank() == 0 || indices.rank() != x.rank())
    return node.invalid("indices are " + to_string(indices) + " for an input of " + to_string(x));
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  if (x.dims[axis].batch || indices.dims[axis].batch)
    return node.unsupported("indexes the batch, but each sample is computed separately");
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    if (x.dims[i].batch != indices.dims[i].batch || (x.dims[i].batch && x.dims[i] != indices.dims[i]))
      return node.unsupported("indices " + to_string(indices) + " do not cover the batch of " + to_string(x));
    if (indices.dims[i].value > x.dims[i].value)
      return node.invalid("indices " + to_string(indices) + " exceed " + to_string(x) + " along axis " +
                          std::to_string(i));
  }
  return {};
}

}  // namespace plimsoll
