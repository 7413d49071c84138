// Not of booleans.   Compare {x, absent, y}: x = 0
#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/whole.h"

namespace plimsoll {
namespace negation {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  if (node.input_type(0).type != DataType::u8)
    return node.invalid("its input is " + to_string(node.input_type(0)) + ", not booleans");
  return std::vector{node.input_type(0)};
}

void forward(TaskBuilder& build) {
  build.task({.kernel = "Compare",
              .attributes = to_attributes(PairAttrs{.operation = kEqual}),
              .operands = {build.read_input(0), Operand{}, build.write_output(0)},
              .in_place = {{0, 2}},
              .flops = flops_per_element(build.node().output_type(0), 1)});
}

std::vector<Sample> samples() {
  return {{.name = "mask", .inputs = {{.dims = {kBatch, {1}, {9}}, .type = DataType::u8, .low = 0, .high = 2}}}};
}

}  // namespace negation

const Op op_Not{.name = "Not",
                .flat = true,
                .elements = Elements::tested,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs, {.ints = [](Dim a) { return MaybeDim(Dim{!a.value}); }});
                },
                .infer = negation::infer,
                .forward = negation::forward,
                .any_type = true,
                .samples = negation::samples};

}  // namespace plimsoll
