// Concat along an axis.   Concat {x0, x1, …, y}   Split {dy, dx0, dx1, …}
// The backward reads nothing of the forward pass. Blocked channels are copied without reordering.
#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/pieces.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"

namespace plimsoll {
namespace concat {

constexpr int64_t kAxis = 1;  // the default, although every opset since 4 requires the attribute

size_t axis(const NodeView& node) {
  return axis_of(node, node.integer("axis", kAxis), node.input_type(0).rank()).value();
}

// The dimensions of the parts concatenated along the axis.
Result<Dims> concatenated(const std::vector<Dims>& parts, int64_t axis) {
  Dims result = parts[0];
  PLIMSOLL_ASSIGN(const size_t along, dims::axis_of(axis, result.size()));
  int64_t extent = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto misfit = [&](const std::string& how) {
      return dims::invalid("input " + std::to_string(i) + " is " + to_string(parts[i]) + how + to_string(parts[0]));
    };
    if (parts[i].size() != result.size()) return misfit(", and input 0 is ");
    if (parts[i][along].batch) return dims::unsupported("concatenates along the batch");
    if (__builtin_add_overflow(extent, parts[i][along].value, &extent))
      return misfit(", too large to concatenate with ");
    Dims others = parts[i];
    others[along] = result[along];
    if (others != result)
      return misfit(", which cannot be concatenated along axis " + std::to_string(along) + " with ");
  }
  result[along] = {extent};
  return result;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  TensorType y = node.input_type(0);
  std::vector<Dims> parts;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return node.invalid("input " + std::to_string(i) + " is missing");
    if (node.input(i).constant) return node.unsupported("input " + std::to_string(i) + " is a constant");
    const TensorType& x = node.input_type(i);
    if (x.type != y.type)
      return node.invalid("input " + std::to_string(i) + " is " + to_string(x) + ", and input 0 is " + to_string(y));
    parts.push_back(x.dims);
  }
  PLIMSOLL_ASSIGN(y.dims, named(node, concatenated(parts, node.integer("axis", kAxis))));
  y.layout = Layout::plain;
  return std::vector{y};
}

void forward(TaskBuilder& build) {
  TaskSpec task{.kernel = is_whole_input(build.node()) ? "Join" : "Concat",
                .attributes = to_attributes(PiecesAttrs{.axis = static_cast<int64_t>(axis(build.node()))})};
  for (size_t i = 0; i < build.node().input_count(); ++i) task.operands.push_back(build.read_input(i));
  task.operands.push_back(build.write_output(0));
  build.task(std::move(task));
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  std::vector<Operand> pieces;
  std::vector<int64_t> extents;
  for (size_t i = 0; i < node.input_count(); ++i) {
    extents.push_back(node.input_type(i).dims[axis(node)].value);
    pieces.push_back(build.write_gradient(i));
  }
  split(build, TaskKind::backward_data, axis(node), build.read_gradient(0), pieces, extents);
}

std::vector<Sample> samples() {
  const auto image = [](int64_t channels) { return SampleInput{.dims = {kBatch, {channels}, {3}, {4}}}; };
  return {{.name = "channels", .inputs = {image(32), image(16), image(48)}, .attributes = {{"axis", int64_t{1}}}},
          {.name = "odd", .inputs = {image(3), image(1)}, .attributes = {{"axis", int64_t{-3}}}},
          {.name = "width", .inputs = {image(32), image(32)}, .attributes = {{"axis", int64_t{3}}}},
          {.name = "twice", .inputs = {image(2)}, .attributes = {{"axis", int64_t{2}}}},
          {.name = "ids",
           .inputs = {{.dims = {kBatch, {2}, {5}}, .type = DataType::i64, .low = -9, .high = 9},
                      {.dims = {kBatch, {3}, {5}}, .type = DataType::i64, .low = -9, .high = 9}},
           .attributes = {{"axis", int64_t{1}}}},
          {.name = "masks",
           .inputs = {{.dims = {kBatch, {5}}, .type = DataType::u8, .low = 0, .high = 2},
                      {.dims = {kBatch, {2}}, .type = DataType::u8, .low = 0, .high = 2}},
           .attributes = {{"axis", int64_t{1}}}},
          {.name = "parameter",
           .inputs = {{.dims = {kBatch, {2}, {5}}}, {.dims = {kBatch, {3}, {5}}}, {.dims = {kBatch, {1}, {5}}}},
           .attributes = {{"axis", int64_t{1}}}}};
}

Known evaluate(const KnownCall& call) {
  if (call.inputs.empty() || !call.known(0)) return std::nullopt;
  const int64_t given = call.integer("axis", kAxis);
  std::vector<Dims> parts;
  for (const KnownInput& input : call.inputs) {
    if (!input.known || !input.known->elements() || *input.known->elements() > kKnownLimit ||
        input.known->element != call.known(0)->element)
      return std::nullopt;
    parts.push_back(input.known->dims);
  }
  const Result<Dims> dims = concatenated(parts, given);
  const auto elements = dims.ok() ? dims::product_of(*dims) : dims.error();
  if (!elements.ok() || elements->value > kKnownLimit) return std::nullopt;
  const size_t axis = dims::axis_of(given, dims->size()).value();
  KnownValue known{.element = call.known(0)->element, .dims = *dims};
  for (size_t outer = 0; outer < constants::extents(*dims, axis).outer; ++outer)
    for (const KnownInput& input : call.inputs) {
      const constants::Extents e = constants::extents(input.known->dims, axis);
      for (size_t i = outer * e.at * e.inner; i < (outer + 1) * e.at * e.inner; ++i)
        if (known.real()) known.reals.push_back(input.known->number(i));
        else known.ints.push_back(input.known->integer(i));
    }
  return known;
}

std::optional<RowsOfInputs> rows(const KnownCall& call) {
  RowsOfInputs made;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Dims* x = call.dims(i);
    const bool by_rows = x && constants::axis_of(call.integer("axis", kAxis), x->size()) == size_t{0};
    if (!by_rows) return std::nullopt;
    made.rows.push_back({i, 0, x->front().value});
  }
  return made;
}

}  // namespace concat

const Op op_Concat{.name = "Concat",
                   .first_opset = 4,
                   .attributes = {attribute::integer("axis")},
                   .samples_rule = SamplesRule::beside,
                   .elements = Elements::joined,
                   .sample_numbers = SampleNumbers::kept,
                   .evaluate = concat::evaluate,
                   .rows = concat::rows,
                   .infer = concat::infer,
                   .forward = concat::forward,
                   .backward = concat::backward,
                   .any_type = true,
                   .layout_of = pieces_layout,
                   .adds_up = adds_up_all,
                   .samples = concat::samples};

}  // namespace plimsoll
