// Where: one operand where a mask is set, another elsewhere.
//   MaskedFill {x, mask, y}: x where the mask selects it, else a number (the causal mask of attention)
//   Select {mask, a, b, y}: of two tensors of any type, or with a broadcast operand; an absent operand is a number
//   MaskedFill {dy, mask, dx}: the gradient for f32, dy where the operand was selected, else 0
// The mask is u8 (a boolean in ONNX), fed, computed or constant. The backward reads no activation.
#include <cmath>
#include <limits>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/masked_fill.h"
#include "runtime/attrs/whole.h"

namespace plimsoll {
namespace where {

// The tensor operand: 1, selected where the mask is set, or 2.
size_t tensor_operand(const NodeView& node) { return node.constant_real(1) ? 2 : 1; }

// Attributes are finite. The kernel turns a value beyond the range of float into infinity, by which a fully masked row
// is recognized.
double finite(double number) {
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::fmax(-kMost, std::fmin(number, kMost));
}

// One operand is a number, the other an f32 tensor that the mask does not broadcast.
bool is_fill(const NodeView& node) {
  const size_t x = tensor_operand(node);
  if (!node.constant_real(3 - x) || node.input(x).constant || node.input_type(x).type != DataType::f32) return false;
  const auto dims = broadcast(node, node.input_type(0).dims, node.input_type(x).dims);
  return dims.ok() && *dims == node.input_type(x).dims;
}

// An attribute represents integers exactly up to 2^53.
Status check_number(const NodeView& node, size_t i) {
  if (!node.input(i).constant) return {};
  const auto number = node.constant_real(i);
  if (!number) return node.unsupported("operand " + std::to_string(i) + " is a constant with more than one element");
  if (std::isnan(*number)) return node.unsupported("the fill value is NaN");
  if (node.input_type(i).type == DataType::i64 && std::fabs(*number) > 0x1p53)
    return node.unsupported("operand " + std::to_string(i) + " is a number above 2^53");
  return {};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 3; ++i)
    if (!node.has_input(i)) return node.invalid("needs a condition and two operands");
  if (node.input_type(0).type != DataType::u8)
    return node.unsupported("the condition is " + to_string(node.input_type(0)) + "; expected booleans");
  if (node.input_type(1).type != node.input_type(2).type)
    return node.invalid("its operands are " + to_string(node.input_type(1)) + " and " + to_string(node.input_type(2)) +
                        ", of different types");
  for (size_t i = 1; i < 3; ++i) PLIMSOLL_TRY(check_number(node, i));
  PLIMSOLL_ASSIGN(Dims dims, broadcast(node, node.input_type(0).dims, node.input_type(1).dims));
  PLIMSOLL_ASSIGN(dims, broadcast(node, dims, node.input_type(2).dims));
  return std::vector{TensorType{node.input_type(1).type, dims}};
}

void select(TaskBuilder& build) {
  const NodeView& node = build.node();
  const auto operand = [&](size_t i) { return node.input(i).constant ? Operand{} : build.read_input(i); };
  const auto number = [&](size_t i) { return node.input(i).constant ? finite(*node.constant_real(i)) : 0; };
  TaskSpec task{.kernel = "Select",
                .attributes = to_attributes(SelectAttrs{.first = number(1), .second = number(2)}),
                .operands = {build.read_input(0), operand(1), operand(2), build.write_output(0)},
                .flops = flops_per_element(node.output_type(0), 1)};
  for (int slot = 1; slot < 3; ++slot)
    if (task.operands[static_cast<size_t>(slot)].access == Access::read &&
        task.operands[static_cast<size_t>(slot)].type == node.output_type(0))
      task.in_place.push_back({slot, 3});
  build.task(std::move(task));
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  if (!is_fill(node)) return select(build);
  const size_t x = tensor_operand(node);
  const double value = finite(*node.constant_real(3 - x));
  build.task({.kernel = "MaskedFill",
              .attributes = to_attributes(MaskedFillAttrs{.value = value, .keep = x == 1}),
              .operands = {build.read_input(x), build.read_input(0), build.write_output(0)},
              .in_place = {{0, 2}},
              .flops = flops_per_element(node.output_type(0), 1)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const TensorType& y = node.output_type(0);
  for (size_t x = 1; x < 3; ++x) {
    if (!build.wants_gradient(x)) continue;
    const bool whole = node.input_type(x).dims == y.dims, parameter = node.input(x).kind == ValueKind::parameter;
    const Operand masked = whole ? build.write_gradient(x) : build.write_scratch("masked", y);
    build.task({.kernel = "MaskedFill",
                .kind = whole && parameter ? TaskKind::backward_weights : TaskKind::backward_data,
                .attributes = to_attributes(MaskedFillAttrs{.keep = x == 1}),
                .operands = {build.read_gradient(0), build.read_input(0), masked},
                .in_place = {{0, 2}},
                .flops = flops_per_element(y, 1)});
    if (!whole) give_summed_gradient(build, x, masked);
  }
}

std::vector<Sample> samples() {
  const auto mask = [](Dims dims) {
    return SampleInput{.dims = std::move(dims), .type = DataType::u8, .low = 0, .high = 2};
  };
  const auto number = [](double value) { return SampleInput{.kind = ValueKind::constant, .constant = {value}}; };
  const SampleInput scores{.dims = {kBatch, {2}, {5}, {7}}}, by_four{.dims = {kBatch, {2}, {5}, {8}}};
  const auto of = [](DataType type, Dims dims) {
    return SampleInput{.dims = std::move(dims), .type = type, .low = -9, .high = 9};
  };
  const SampleInput parameter{.dims = {{8}}, .kind = ValueKind::parameter};
  return {{.name = "two", .inputs = {mask({kBatch, {1}, {5}, {8}}), by_four, by_four}},
          {.name = "stretched", .inputs = {mask({kBatch, {1}, {5}, {1}}), parameter, by_four}},
          {.name = "stretched_by_mask", .inputs = {mask({kBatch, {5}, {1}}), {.dims = {kBatch, {1}, {8}}}, number(2)}},
          {.name = "numbers", .inputs = {mask({kBatch, {1}, {1}, {7}}), number(0), number(-3)}},
          {.name = "whole",
           .inputs = {mask({kBatch, {6}}), of(DataType::i64, {kBatch, {6}}),
                      {.kind = ValueKind::constant, .constant = {-7}, .type = DataType::i64}}},
          {.name = "bytes", .inputs = {mask({kBatch, {6}}), mask({kBatch, {6}}), mask({{6}})}},
          {.name = "attention", .inputs = {mask({{1}, {1}, {5}, {7}}), scores, number(-3)}},
          {.name = "filled", .inputs = {mask({kBatch, {1}, {1}, {7}}), number(0.5), scores}},
          {.name = "attention_by_four", .inputs = {mask({{1}, {1}, {5}, {8}}), by_four, number(-3)}},
          {.name = "filled_by_four", .inputs = {mask({kBatch, {1}, {5}, {1}}), number(0.5), by_four}},
          {.name = "same", .inputs = {mask({kBatch, {6}}), {.dims = {kBatch, {6}}}, number(2)}},
          {.name = "parameter",
           .inputs = {mask({{3}, {4}}), number(0), {.dims = {{3}, {4}}, .kind = ValueKind::parameter}}}};
}

Known evaluate(const KnownCall& call) {
  if (call.inputs.size() != 3 || !call.inputs[0].known || !call.inputs[1].known || !call.inputs[2].known)
    return std::nullopt;
  const KnownValue &condition = *call.inputs[0].known, &a = *call.inputs[1].known, &b = *call.inputs[2].known;
  if (condition.real() || a.element != b.element) return std::nullopt;
  const auto dims = constants::broadcast({&condition.dims, &a.dims, &b.dims});
  if (!dims) return std::nullopt;
  const auto at = constants::broadcast_indices(condition.dims, *dims),
             at_a = constants::broadcast_indices(a.dims, *dims), at_b = constants::broadcast_indices(b.dims, *dims);
  KnownValue known{.element = a.element, .dims = *dims};
  for (size_t i = 0; i < at.size(); ++i) {
    const bool first = condition.integer(at[i]).value != 0;
    if (known.real()) known.reals.push_back(first ? a.number(at_a[i]) : b.number(at_b[i]));
    else known.ints.push_back(first ? a.integer(at_a[i]) : b.integer(at_b[i]));
  }
  return known;
}

}  // namespace where

const Op op_Where{.name = "Where",
                  .first_opset = 9,
                  .inputs = {Slot::data, Slot::number, Slot::number},
                  .required_inputs = 3,
                  .samples_rule = SamplesRule::broadcast,
                  .without_gradient = {0},
                  .elements = Elements::selected,
                  .typed_by = 1,
                  .evaluate = where::evaluate,
                  .infer = where::infer,
                  .forward = where::forward,
                  .backward = where::backward,
                  .any_type = true,
                  .samples = where::samples};

}  // namespace plimsoll
