// GatherElements: along an axis, the element selected by each index.
//   GatherElementsForward {x, indices, y}   GatherElementsBackward {indices, dy, dx}
#include <algorithm>

#include "compiler/ops/elements.h"
#include "compiler/ops/evaluate.h"

namespace plimsoll {
namespace gather_elements {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires an input and indices");
  PLIMSOLL_TRY(check_elements(node, node.input_type(1)));
  return std::vector{TensorType{node.input_type(0).type, node.input_type(1).dims}};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  build.bound_input(1, node.input_type(0).dims[elements_axis(node)].value);
  build.task({.kernel = "GatherElementsForward",
              .attributes = to_attributes(ElementsAttrs{.axis = static_cast<int64_t>(elements_axis(node))}),
              .operands = {build.read_input(0), build.read_input(1), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  build.task({.kernel = "GatherElementsBackward",
              .kind = node.input(0).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(ElementsAttrs{.axis = static_cast<int64_t>(elements_axis(node))}),
              .operands = {build.read_input(1), build.read_gradient(0), build.write_gradient(0)},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, SampleInput x, Dims dims, DataType type, double low, double high,
                         int64_t axis) {
    return Sample{.name = std::move(name),
                  .inputs = {std::move(x), {.dims = std::move(dims), .type = type, .low = low, .high = high}},
                  .attributes = {{"axis", axis}}};
  };
  return {sample("along_last", {.dims = {kBatch, {3}, {5}}}, {kBatch, {3}, {7}}, DataType::i64, -5, 5, -1),
          sample("along_middle", {.dims = {kBatch, {4}, {3}}}, {kBatch, {6}, {2}}, DataType::i32, 0, 4, 1),
          sample("parameter", {.dims = {{6}, {3}}, .kind = ValueKind::parameter}, {{9}, {3}}, DataType::i64, 0, 6, 0),
          sample("token_types", {.dims = {kBatch, {9}}, .type = DataType::i64, .low = -9, .high = 9}, {kBatch, {5}},
                 DataType::i64, 0, 9, 1)};
}

// All elements are equal, so any selection gives that value (a table of token types that are all 0).
bool is_one_number(const KnownValue& known) {
  if (!known.steps.empty() || !known.probes.empty() || (known.ints.empty() && known.reals.empty())) return false;
  return std::all_of(known.ints.begin(), known.ints.end(),
                     [&](Dim item) { return item == known.ints[0] && !item.batch; }) &&
         std::all_of(known.reals.begin(), known.reals.end(), [&](double item) { return item == known.reals[0]; });
}

Known evaluate(const KnownCall& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1);
  if (data && call.dims(1) && is_one_number(*data)) {
    KnownValue known = *data;
    known.ints.resize(std::min<size_t>(known.ints.size(), 1));
    known.reals.resize(std::min<size_t>(known.reals.size(), 1));
    known.dims = *call.dims(1);
    return known;
  }
  if (!data || !indices || !data->elements()) return std::nullopt;
  const auto chosen = constants::places_along(data->dims, *indices, call.integer("axis", 0));
  return chosen ? Known(constants::picked(*data, indices->dims, *chosen)) : std::nullopt;
}

}  // namespace gather_elements

const Op op_GatherElements{.name = "GatherElements",
                           .first_opset = 11,
                           .required_inputs = 2,
                           .attributes = {attribute::integer("axis")},
                           .samples_rule = SamplesRule::first_input,
                           .without_gradient = {1},
                           .elements = Elements::selected,
                           .sample_numbers = SampleNumbers::kept,
                           .evaluate = gather_elements::evaluate,
                           .infer = gather_elements::infer,
                           .forward = gather_elements::forward,
                           .backward = gather_elements::backward,
                           .any_type = true,
                           .samples = gather_elements::samples};

}  // namespace plimsoll
