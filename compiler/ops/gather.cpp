// Gather: rows of a table, selected by index. For an embedding table, read at the model's token ids:
//   GatherForward  {table, indices, y}     table [rows, width], indices [count] i32 or i64, y [count, width]
//   GatherBackward {indices, dy, dtable}   dtable[index] += dy, in the order of the indices, so bits are reproducible
// A node with NodeMarks::padding_index (plimsoll.export writes it) uses PaddedGatherBackward, which leaves the gradient
// of that row 0. Along an axis other than the first, the same for several tables: [tables, rows, width], y [tables,
// count, width]. If the indices are known at compile time and evenly spaced (x[:, 0], positions 0, 1, 2, …), Gather is
// a slice:
//   Slice {x, y}   SliceBackward {dy, dx}
// A table of integers or booleans uses   GatherWhole {table, indices, y}   or   Move {x, y}
#include "compiler/ops/evaluate.h"
#include "compiler/ops/gather.h"

#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"
#include "compiler/support/bytes.h"
#include "runtime/attrs/shape.h"

namespace plimsoll {
namespace gather {

struct Table {
  Dims table, indices, result;  // as the kernel sees them
};

// Indices that are tensors in the arena.
Result<Table> table_of(const NodeView& node) {
  const TensorType &x = node.input_type(0), &indices = node.input_type(1);
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  PLIMSOLL_ASSIGN(const Dim tables, product_of(node, x.dims, 0, axis));
  PLIMSOLL_ASSIGN(const Dim width, product_of(node, x.dims, axis + 1, x.rank()));
  PLIMSOLL_ASSIGN(const Dim count, product_of(node, indices.dims, 0, indices.rank()));
  const Dim rows = x.dims[axis];
  if (axis == 0) return Table{{rows, width}, {count}, {count, width}};
  return Table{{tables, rows, width}, {count}, {tables, count, width}};
}

// Indices known at compile time: every `step`-th from `first`.
struct Run {
  int64_t first = 0, step = 1, count = 1;
  size_t axis = 0;
};

Result<Run> run_of(const NodeView& node, const std::vector<int64_t>& indices) {
  const Dims& x = node.input_type(0).dims;
  Run run{.count = static_cast<int64_t>(indices.size())};
  PLIMSOLL_ASSIGN(run.axis, axis_of(node, node.integer("axis", 0), x.size()));
  const int64_t n = x[run.axis].value;
  if (x[run.axis].batch) return node.unsupported("indexes the batch, but each sample is computed separately");
  std::vector<int64_t> at;
  for (const int64_t index : indices) {
    if (index < -n || index >= n)
      return node.invalid("index " + std::to_string(index) + " is out of range for axis " + std::to_string(run.axis) +
                          " of " + to_string(x));
    at.push_back(index < 0 ? index + n : index);
  }
  if (at.empty()) return node.invalid("selects nothing");
  if (!evenly_spaced(at)) return node.unsupported("its constant indices are not evenly spaced");
  run.first = at[0];
  if (at.size() > 1) run.step = at[1] - at[0];
  return run;
}

bool picks_all(const NodeView& node, const Run& run) {
  return run.first == 0 && run.step == 1 && run.count == node.input_type(0).dims[run.axis].value;
}

// The table's dimensions with the axis replaced by the dimensions of the indices.
Dims gathered(const Dims& x, const Dims& indices, size_t axis) {
  Dims dims(x.begin(), x.begin() + static_cast<int64_t>(axis));
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.begin() + static_cast<int64_t>(axis) + 1, x.end());
  return dims;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires a table and indices");
  const TensorType &x = node.input_type(0), &indices = node.input_type(1);
  if (x.rank() == 0) return node.invalid("a scalar has no rows");
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, node.integer("axis", 0), x.rank()));
  if (const auto known = node.constant_integers(1)) {
    PLIMSOLL_TRY(run_of(node, *known));
  } else {
    if (indices.type != DataType::i32 && indices.type != DataType::i64)
      return node.invalid("indices are " + to_string(indices) + "; expected integers");
    if (x.dims[axis].batch) return node.unsupported("indexes the batch, but each sample is computed separately");
    if (indices.depends_on_batch() && axis != 0)
      return node.unsupported("selects along axis " + std::to_string(axis) +
                              "; with indices of each sample only axis 0 is supported");
    if (indices.depends_on_batch() && x.depends_on_batch())
      return node.unsupported("the table " + to_string(x) + " and its indices both depend on the batch");
    PLIMSOLL_TRY(table_of(node));
  }
  return std::vector{TensorType{x.type, gathered(x.dims, indices.dims, axis)}};
}

SliceAttrs slice_of(const NodeView& node, const Run& run) {
  SliceAttrs attrs;
  for (size_t i = 0; i < node.input_type(0).rank(); ++i) {
    attrs.starts.push_back(i == run.axis ? run.first : 0);
    attrs.steps.push_back(i == run.axis ? run.step : 1);
  }
  return attrs;
}

// The result with the selected axis as one dimension, whatever the rank of the indices.
Dims picked(const NodeView& node, const Run& run) {
  Dims dims = node.input_type(0).dims;
  dims[run.axis] = {run.count};
  return dims;
}

std::optional<AxisPart> part(const NodeView& node) {
  const auto known = node.constant_integers(1);
  if (!known || node.input_type(1).rank() > 1) return std::nullopt;
  const auto run = run_of(node, *known);
  if (!run.ok() || picks_all(node, *run)) return std::nullopt;
  return AxisPart{.axis = run->axis, .first = run->first, .step = run->step, .count = run->count};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  if (const auto known = node.constant_integers(1)) {
    const Run run = run_of(node, *known).value();
    if (picks_all(node, run)) return forward_alias(build);
    if (is_whole_input(node)) {
      MoveAttrs attrs = as_it_is(node.input_type(0).rank());
      attrs.starts[run.axis] = run.first;
      attrs.steps[run.axis] = run.step;
      return build.task({.kernel = "Move",
                         .attributes = to_attributes(attrs),
                         .operands = {build.read_input(0), viewed(build.write_output(0), picked(node, run))}});
    }
    return build.task({.kernel = "Slice",
                       .attributes = to_attributes(slice_of(node, run)),
                       .operands = {build.read_input(0), viewed(build.write_output(0), picked(node, run))}});
  }
  const Table view = table_of(node).value();
  build.bound_input(1, view.table[view.table.size() - 2].value);
  build.task({.kernel = is_whole_input(node) ? "GatherWhole" : "GatherForward",
              .operands = {viewed(build.read_input(0), view.table), viewed(build.read_input(1), view.indices),
                           viewed(build.write_output(0), view.result)}});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const TaskKind kind =
      node.input(0).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data;
  if (const auto known = node.constant_integers(1)) {
    const Run run = run_of(node, *known).value();
    if (picks_all(node, run)) return backward_alias(build);
    return build.task({.kernel = "SliceBackward",
                       .kind = kind,
                       .attributes = to_attributes(slice_of(node, run)),
                       .operands = {viewed(build.read_gradient(0), picked(node, run)), build.write_gradient(0)}});
  }
  const Table view = table_of(node).value();
  const int64_t rows = view.table[view.table.size() - 2].value;
  // counted from the end if negative, as in PyTorch
  const int64_t padding = node.node().marks.padding_index.value_or(-1 - rows);
  const int64_t left_out = padding < 0 ? padding + rows : padding;
  const bool padded = left_out >= 0 && left_out < rows;
  build.task({.kernel = padded ? "PaddedGatherBackward" : "GatherBackward",
              .kind = kind,
              .attributes = padded ? to_attributes(PaddedGatherAttrs{.row = left_out}) : Attributes{},
              .operands = {viewed(build.read_input(1), view.indices), viewed(build.read_gradient(0), view.result),
                           viewed(build.write_gradient(0), view.table)},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto fed = [](std::string name, Dims table, Dims indices, DataType type) {
    const double rows = static_cast<double>(table[0].value);
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(table), .kind = ValueKind::parameter},
                             {.dims = std::move(indices), .type = type, .low = 0, .high = rows}}};
  };
  // Indices that do not depend on the sample.
  const auto along = [](std::string name, Dims x, Dims indices, double rows, int64_t axis) {
    const bool of_samples = std::any_of(x.begin(), x.end(), [](Dim dim) { return dim.batch; });
    const ValueKind kind = of_samples ? ValueKind::intermediate : ValueKind::parameter;
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(x), .kind = kind},
                             {.dims = std::move(indices), .type = DataType::i64, .low = -rows, .high = rows}},
                  .attributes = {{"axis", axis}}};
  };
  const auto known = [](std::string name, SampleInput x, Dims dims, std::vector<double> indices, int64_t axis) {
    return Sample{.name = std::move(name),
                  .inputs = {std::move(x),
                             {.dims = std::move(dims),
                              .kind = ValueKind::constant,
                              .constant = std::move(indices),
                              .type = DataType::i64}},
                  .attributes = {{"axis", axis}}};
  };
  // The padding row is not selected: its gradient is 0 in any case.
  const Sample padded{.name = "padded",
                      .inputs = {{.dims = {{5}, {8}}, .kind = ValueKind::parameter},
                                 {.dims = {kBatch, {3}}, .type = DataType::i64, .low = 1, .high = 5}},
                      .marks = {.padding_index = 0}};
  const SampleInput sequence{.dims = {kBatch, {5}, {4}}}, positions{.dims = {{6}, {4}}, .kind = ValueKind::parameter};
  // More indices than rows, so that rows are selected repeatedly; and rows that are never selected.
  return {fed("tokens", {{5}, {67}}, {kBatch, {9}}, DataType::i64),
          fed("few", {{99}, {8}}, {kBatch, {2}}, DataType::i32),
          fed("labels", {{3}, {2}, {4}}, {kBatch}, DataType::i64),
          padded,
          along("shuffled", {kBatch, {5}, {3}}, {{7}}, 5, 1),
          along("columns", {kBatch, {2}, {9}}, {{2}, {3}}, 9, -1),
          along("table_of_rows", {{4}, {6}}, {{5}}, 6, 1),
          along("pixels", {{6}, kBatch, {3}}, {{4}, {2}}, 6, 0),
          {.name = "ids",
           .inputs = {{.dims = {kBatch, {5}}, .type = DataType::i64, .low = -9, .high = 99},
                      {.dims = {{3}}, .type = DataType::i64, .low = -5, .high = 5}},
           .attributes = {{"axis", int64_t{1}}}},
          {.name = "flags",
           .inputs = {{.dims = {{6}, {2}}, .kind = ValueKind::input, .type = DataType::u8, .low = 0, .high = 2},
                      {.dims = {kBatch, {3}}, .type = DataType::i32, .low = 0, .high = 6}}},
          known("first_flag", {.dims = {kBatch, {5}}, .type = DataType::u8, .low = 0, .high = 2}, {}, {0}, 1),
          known("first_token", sequence, {}, {0}, 1),
          known("last_token", sequence, {}, {-1}, -2),
          known("backwards", sequence, {{3}}, {4, 2, 0}, 1),
          known("positions", positions, {{4}}, {0, 1, 2, 3}, 0),
          known("positions_in_rows", positions, {{1}, {3}}, {2, 3, 4}, 0),
          known("all_positions", positions, {{1}, {6}}, {0, 1, 2, 3, 4, 5}, 0)};
}

Known evaluate(const KnownCall& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1);
  if (!data || !indices || indices->real() || !data->elements() || !indices->elements()) return std::nullopt;
  const auto axis = constants::axis_of(call.integer("axis", 0), data->dims.size());
  if (!axis) return std::nullopt;
  const constants::Extents e = constants::extents(data->dims, *axis);
  const auto count = checked_mul(*indices->elements(), static_cast<int64_t>(e.outer * e.inner));
  if (!count || *count > kKnownLimit) return std::nullopt;
  Dims dims = gathered(data->dims, indices->dims, *axis);
  std::vector<size_t> chosen;
  for (size_t outer = 0; outer < e.outer; ++outer)
    for (size_t i = 0; i < static_cast<size_t>(*indices->elements()); ++i) {
      const Dim index = indices->integer(i);
      const auto at = index.batch ? std::nullopt : constants::axis_of(index.value, e.at);
      if (!at) return std::nullopt;
      for (size_t inner = 0; inner < e.inner; ++inner) chosen.push_back((outer * e.at + *at) * e.inner + inner);
    }
  return constants::picked(*data, std::move(dims), chosen);
}

}  // namespace gather

bool evenly_spaced(const std::vector<int64_t>& indices) {
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i] == indices[i - 1] || indices[i] - indices[i - 1] != indices[1] - indices[0]) return false;
  return true;
}

const Op op_Gather{.name = "Gather",
                   .inputs = {Slot::data, Slot::indices},
                   .required_inputs = 2,
                   .attributes = {attribute::integer("axis")},
                   .without_gradient = {1},
                   .elements = Elements::selected,
                   .sample_numbers = SampleNumbers::kept,
                   .axes = AxesRule::changed,
                   .evaluate = gather::evaluate,
                   .infer = gather::infer,
                   .forward = gather::forward,
                   .backward = gather::backward,
                   .any_type = true,
                   .marks = {.padding_index = 0},
                   .part = gather::part,
                   .precision = PrecisionRule::rows,
                   .samples = gather::samples};

}  // namespace plimsoll
