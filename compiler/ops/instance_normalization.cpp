// InstanceNormalization: normalizes every channel of each sample by its own mean and variance. The kernels are in
// channel_normalization.h.
#include "compiler/ops/channel_normalization.h"

namespace plimsoll {
namespace instance_normalization {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(const int64_t channels, channels_of(node));
  return infer_channel_normalization(node, channels, channels);
}

void forward(TaskBuilder& build) { forward_channel_normalization(build, build.node().input_type(0).dims[1].value); }
void backward(TaskBuilder& build) { backward_channel_normalization(build, build.node().input_type(0).dims[1].value); }

std::vector<Sample> samples() {
  return {channel_normalization_sample("image", {kBatch, {5}, {3}, {4}}, 5),
          channel_normalization_sample("series", {kBatch, {4}, {9}}, 4),
          channel_normalization_sample("volume", {kBatch, {3}, {2}, {3}, {2}}, 3),
          channel_normalization_sample("blocked", {kBatch, {16}, {3}, {4}}, 16)};
}

}  // namespace instance_normalization

const Op op_InstanceNormalization{.name = "InstanceNormalization",
                                  .inputs = {Slot::data, Slot::weight, Slot::weight},
                                  .required_inputs = 3,
                                  .attributes = {attribute::real("epsilon")},
                                  .samples_rule = SamplesRule::first_input,
                                  .infer = instance_normalization::infer,
                                  .forward = instance_normalization::forward,
                                  .backward = instance_normalization::backward,
                                  .layout = LayoutRule::blocks,
                                  .absorbs = only_swish,
                                  .samples = instance_normalization::samples};

}  // namespace plimsoll
