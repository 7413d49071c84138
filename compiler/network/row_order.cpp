#include "compiler/network/row_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/node_view.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

using Orders = IdVector<ValueId, std::optional<RowOrder>>;

int64_t product_before(const Dims& dims, size_t axis) {
  int64_t product = 1;
  for (size_t i = 0; i < axis; ++i) product *= dims[i].value;  // at most the number of elements
  return product;
}

// Whether the elements stay in one sequence, of which only the dimensions change.
bool regroups(const Node& node) { return node.op == "Reshape" || node.op == "Flatten"; }

// Of a sequence of elements. As many elements are in front of the samples as before. nullopt: the samples are not in
// this dimension.
std::optional<RowOrder> regrouped(const Dims& from, RowOrder order, const Dims& to) {
  const size_t axis = axis_of_batch(to);
  const int64_t front = product_before(from, axis_of_batch(from)) * order.steps_before;
  const int64_t kept = product_before(to, axis), rows = to[axis].value;
  if (kept == 0 || front % kept != 0 || front == 0) return std::nullopt;
  const int64_t steps = front / kept;
  return rows % steps == 0 ? std::optional(RowOrder{steps, rows / steps}) : std::nullopt;
}

std::string in_words(const Dims& dims, RowOrder order) {
  return fmt::format("{} {} after another", to_string(dims), order.steps_before > 1 ? "one step" : "one sample");
}

Status follow_rows(const Network& network, const Node& node, Orders& orders) {
  std::optional<ValueId> first;  // an input with several rows of each sample, whose order is known
  for (const ValueId input : node.inputs) {
    if (!input.valid() || !orders[input]) continue;
    const Dims& dims = network.values[input].type.dims;
    const int64_t rows = dims[axis_of_batch(dims)].value;
    if (rows == 1) continue;
    if (!first) first = input;
    const Dims& others = network.values[*first].type.dims;
    // An operator computes row by row, so rows that meet must be of the same sample.
    if (others[axis_of_batch(others)].value == rows && *orders[*first] != *orders[input])
      return NodeView(network, node)
          .unsupported(fmt::format("combines rows of different samples: {}, and {}", in_words(others, *orders[*first]),
                                   in_words(dims, *orders[input])));
  }
  for (const ValueId output : node.outputs) {
    if (!output.valid() || !network.values[output].type.depends_on_batch()) continue;
    const Dims& to = network.values[output].type.dims;
    const int64_t rows = to[axis_of_batch(to)].value;
    if (const ValueId input = node.inputs.empty() ? ValueId{} : node.inputs[0];
        input.valid() && orders[input] && regroups(node)) {
      const Dims& from = network.values[input].type.dims;
      orders[output] = regrouped(from, *orders[input], to);
      if (!orders[output])
        return NodeView(network, node)
            .unsupported(fmt::format("combines rows of different samples: {}, as {}", in_words(from, *orders[input]),
                                     to_string(to)));
      continue;
    }
    if (rows == 1) orders[output] = RowOrder{};
    for (const ValueId input : node.inputs) {
      if (orders[output] || !input.valid() || !orders[input]) continue;
      const Dims& from = network.values[input].type.dims;
      if (from[axis_of_batch(from)].value == rows) orders[output] = orders[input];
    }
  }
  return {};
}

}  // namespace

size_t axis_of_batch(const Dims& dims) {
  return static_cast<size_t>(std::find_if(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; }) - dims.begin());
}

Result<Orders> find_row_orders(const Network& network, std::span<const ValueId> outputs) {
  IdVector<ValueId, bool> needed(network.values.size(), false);
  for (const ValueId output : outputs) needed[output] = true;
  const auto is_needed = [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId output) { return output.valid() && needed[output]; });
  };
  const std::vector<NodeId> ids = ids_of(network.nodes);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id)
    if (is_needed(network.nodes[*id]))
      for (const ValueId input : network.nodes[*id].inputs)
        if (input.valid()) needed[input] = true;
  Orders orders(network.values.size());
  for (const ValueId input : network.inputs) {
    const Dims& dims = network.values[input].type.dims;
    if (network.values[input].type.depends_on_batch() && dims[axis_of_batch(dims)].value == 1)
      orders[input] = RowOrder{};
  }
  for (const Node& node : network.nodes)
    if (is_needed(node)) PLIMSOLL_TRY(follow_rows(network, node, orders));
  return orders;
}

}  // namespace plimsoll
