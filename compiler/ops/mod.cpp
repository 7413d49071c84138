// Mod of integers, with the sign of the divisor.   WholeArithmetic {a, b, y}   (compiler/ops/whole.h)
#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/whole.h"

namespace plimsoll {
namespace mod {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (node.integer("fmod", 0) != 0)
    return node.unsupported("fmod, the remainder with the sign of the dividend, is not supported");
  return infer_whole(node);
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, DataType type, SampleInput divisor) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = {kBatch, {9}}, .type = type, .low = -9, .high = 9}, std::move(divisor)}};
  };
  return {sample("number", DataType::i64, {.kind = ValueKind::constant, .constant = {4}, .type = DataType::i64}),
          sample("tensor", DataType::i32, {.dims = {{9}}, .type = DataType::i32, .low = 1, .high = 5})};
}

}  // namespace mod

const Op op_Mod{.name = "Mod",
                .first_opset = 10,
                .inputs = {Slot::number},
                .required_inputs = 2,
                .attributes = {attribute::integer("fmod").since(10)},
                .samples_rule = SamplesRule::broadcast,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_binary(call.inputs, {.ints = symbolic::remainder});
                },
                .infer = mod::infer,
                .forward = forward_whole,
                .any_type = true,
                .samples = mod::samples};

}  // namespace plimsoll
