// LayerNormalization over the axes from `axis` on, each row by its own mean and variance.
//   LayerNormForward  {x, scale, bias, y, mean, deviation}
//   LayerNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias}
// ONNX requires a scale. If a model writes the normalization as primitive operators without a scale
// (network/composites.h), the scale is absent here.
#include "compiler/ops/row_normalization.h"

namespace plimsoll {
namespace layer_normalization {

RowNormalization kernels() { return {.kernel = "LayerNorm"}; }

void forward(TaskBuilder& build) { forward_row_normalization(build, kernels()); }
void backward(TaskBuilder& build) { backward_row_normalization(build, kernels()); }

std::vector<Sample> samples() {
  const auto sample = row_normalization_sample;
  return {sample("tokens", {kBatch, {3}, {37}}, {{37}}, -1, 3),
          sample("image", {kBatch, {2}, {3}, {4}}, {{2}, {3}, {4}}, 1, 3),
          sample("rows", {kBatch, {64}}, {{64}}, -1, 3), sample("unbiased", {kBatch, {5}, {8}}, {{8}}, 2, 2),
          sample("plain", {kBatch, {9}}, {{9}}, -1, 1)};
}

}  // namespace layer_normalization

const Op op_LayerNormalization{.name = "LayerNormalization",
                               .first_opset = 17,
                               .inputs = {Slot::data, Slot::weight, Slot::weight},
                               .required_inputs = 2,
                               .most_outputs = 3,
                               .attributes = {attribute::integer("axis").since(17),
                                              attribute::real("epsilon").since(17),
                                              attribute::integer("stash_type").since(17)},
                               .samples_rule = SamplesRule::first_input,
                               .infer = infer_row_normalization,
                               .forward = layer_normalization::forward,
                               .backward = layer_normalization::backward,
                               .samples = layer_normalization::samples};

}  // namespace plimsoll
