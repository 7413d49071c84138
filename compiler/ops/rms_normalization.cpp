// RMSNormalization over the axes from `axis` on: each row divided by its root mean square.
//   RmsNormForward  {x, scale, bias, y, absent, deviation}
//   RmsNormBackward {x, dy, scale, absent, deviation, dx, dscale, dbias}
// The slots are those of layer normalization; no mean is subtracted, so none is saved. ONNX requires a scale and has no
// bias. If a model writes the normalization as primitive operators without a scale (network/composites.h), the scale is
// absent here.
#include "compiler/ops/row_normalization.h"

namespace plimsoll {
namespace rms_normalization {

RowNormalization kernels() { return {.kernel = "RmsNorm", .centered = false}; }

void forward(TaskBuilder& build) { forward_row_normalization(build, kernels()); }
void backward(TaskBuilder& build) { backward_row_normalization(build, kernels()); }

std::vector<Sample> samples() {
  const auto sample = row_normalization_sample;
  std::vector<Sample> all = {sample("tokens", {kBatch, {3}, {37}}, {{37}}, -1, 2),
                             sample("image", {kBatch, {2}, {3}, {4}}, {{2}, {3}, {4}}, 1, 2),
                             sample("rows", {kBatch, {64}}, {{64}}, -1, 2),
                             sample("plain", {kBatch, {9}}, {{9}}, -1, 1)};
  for (Sample& one : all) one.opset = 23;
  return all;
}

}  // namespace rms_normalization

const Op op_RMSNormalization{.name = "RMSNormalization",
                             .first_opset = 23,
                             .inputs = {Slot::data, Slot::weight},
                             .required_inputs = 2,
                             .attributes = {attribute::integer("axis").since(23), attribute::real("epsilon").since(23),
                                            attribute::integer("stash_type").since(23)},
                             .samples_rule = SamplesRule::first_input,
                             .infer = infer_row_normalization,
                             .forward = rms_normalization::forward,
                             .backward = rms_normalization::backward,
                             .samples = rms_normalization::samples};

}  // namespace plimsoll
