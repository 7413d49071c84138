// Where: one operand where a mask is set, and a number elsewhere (the causal mask of attention).
//   MaskedFill {x, mask, y}: x where the mask says so, else the number;   MaskedFill {dy, mask, dx}: dy there, else 0
// The mask is u8 (a boolean of ONNX), fed or constant, and broadcasts to x. Reads no activation on the way back.
#include <cmath>
#include <limits>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/masked_fill.h"

namespace plimsoll {
namespace where {

// The operand that is no number: 1, taken where the mask is set, or 2.
size_t tensor_operand(const NodeView& node) { return node.constant_real(1) ? 2 : 1; }

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 3; ++i)
    if (!node.has_input(i)) return node.invalid("needs a condition and two operands");
  const size_t x = tensor_operand(node);
  const auto number = node.constant_real(3 - x);
  if (!number || node.constant_real(x))
    return node.unsupported("exactly one operand has to be a number known while compiling, as in masked_fill");
  if (std::isnan(*number)) return node.unsupported("fills with what is no number");
  if (node.input_type(0).type != DataType::u8)
    return node.unsupported("the condition is " + to_string(node.input_type(0)) + " when it should be of booleans");
  if (node.input_type(x).type != DataType::f32)
    return node.unsupported("only f32 has kernels, operand " + std::to_string(x) + " is " + to_string(node.input_type(x)));
  PLIMSOLL_ASSIGN(const Dims dims, broadcast(node, node.input_type(0).dims, node.input_type(x).dims));
  if (dims != node.input_type(x).dims)
    return node.unsupported("the condition " + to_string(node.input_type(0).dims) + " stretches operand " +
                            to_string(node.input_type(x).dims) + " to " + to_string(dims));
  return std::vector{TensorType{DataType::f32, dims}};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const size_t x = tensor_operand(node);
  // Attributes are finite; what no float holds is infinity to the kernel, which a row that is masked whole is known by.
  constexpr double kMost = std::numeric_limits<double>::max();
  const double value = std::fmax(-kMost, std::fmin(*node.constant_real(3 - x), kMost));
  build.task({.kernel = "MaskedFill",
              .attributes = to_attributes(MaskedFillAttrs{.value = value, .keep = x == 1}),
              .operands = {build.read_input(x), build.read_input(0), build.write_output(0)},
              .in_place = {{0, 2}},
              .flops = flops_per_element(node.output_type(0), 1)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const size_t x = tensor_operand(node);
  build.task({.kernel = "MaskedFill",
              .kind = node.input(x).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(MaskedFillAttrs{.keep = x == 1}),
              .operands = {build.read_gradient(0), build.read_input(0), build.write_gradient(x)},
              .in_place = {{0, 2}},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto mask = [](Dims dims) { return SampleInput{.dims = std::move(dims), .type = DataType::u8, .low = 0, .high = 2}; };
  const auto number = [](double value) { return SampleInput{.kind = ValueKind::constant, .constant = {value}}; };
  const SampleInput scores{.dims = {kBatch, {2}, {5}, {7}}}, by_four{.dims = {kBatch, {2}, {5}, {8}}};
  return {{.name = "attention", .inputs = {mask({{1}, {1}, {5}, {7}}), scores, number(-3)}},
          {.name = "filled", .inputs = {mask({kBatch, {1}, {1}, {7}}), number(0.5), scores}},
          {.name = "attention_by_four", .inputs = {mask({{1}, {1}, {5}, {8}}), by_four, number(-3)}},
          {.name = "filled_by_four", .inputs = {mask({kBatch, {1}, {5}, {1}}), number(0.5), by_four}},
          {.name = "same", .inputs = {mask({kBatch, {6}}), {.dims = {kBatch, {6}}}, number(2)}},
          {.name = "parameter",
           .inputs = {mask({{3}, {4}}), number(0), {.dims = {{3}, {4}}, .kind = ValueKind::parameter}}}};
}

}  // namespace where

const Op op_Where{.name = "Where",
                  .first_opset = 9,
                  .infer = where::infer,
                  .forward = where::forward,
                  .backward = where::backward,
                  .whole_numbers = 0,
                  .samples = where::samples};

}  // namespace plimsoll
